"""What a suite may spend is spent once, and what stops it lets it go on."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from pathlib import Path

import pytest
from marked_kernels import TASK, kernel
from sample_requests import requests
from script import Fault, Script
from scripted_run import environment
from scripted_server import ScriptedServer

from tilesmith.forge.recorded_effects import Activity
from tilesmith.llm.prompts import write_prompt
from tilesmith.records import Usage
from tilesmith.suite.allowance import Allowance, SuiteStopped
from tilesmith.suite.document import read_suite
from tilesmith.suite.jobs import _StoppableObserver
from tilesmith.suite.records import SuiteLimits

PROGRAM = [sys.executable, str(Path(__file__).parent / "marked_suite.py")]


def tasks_in(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}_relu.py").write_text(TASK)
    return folder


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *map(str, arguments)], env=environment(), text=True, capture_output=True)


def test_tokens_of_all_tasks_together(tmp_path: Path) -> None:
    """Three at once stay below the limit, which is less than all need; with a higher one the same suite ends."""
    tasks, out = tasks_in(tmp_path / "tasks", 8), tmp_path / "out"
    with ScriptedServer(Script(reply=kernel("passed 1.2"))) as server:
        first = run(tasks, out, server.base_url, 3, 60_000)
        suite = read_suite(out)
        told = json.loads((out / "suite.json").read_text())
        assert "the suite's limit is reached" in suite.why_unfinished, first.stderr
        assert 0 < len(suite.rows) < 8
        assert told["statistics"]["left"] == 8 - len(suite.rows)
        paid = len(server.log)
        run(tasks, out, server.base_url, 3, 10_000_000)
    whole = read_suite(out)
    assert [row.outcome for row in whole.rows] == ["passed"] * 8
    assert whole.why_unfinished == ""
    assert paid < len(server.log)
    assert {row.run for row in suite.rows} <= {row.run for row in whole.rows}


def test_a_call_waits_for_those_under_way() -> None:
    """They may use nearly all that is left, and use little: the next call is neither refused nor cut short."""
    request = replace(requests()["seed"], max_output_tokens=16_000)
    prompt = write_prompt(request)
    allowance = Allowance(SuiteLimits(max_tokens=30_000))
    first = allowance.promise(request, prompt, lambda usage: None)
    with ThreadPoolExecutor(1) as threads:
        second = threads.submit(allowance.promise, request, prompt, lambda usage: None)
        with pytest.raises(FutureTimeout):
            second.result(0.3)
        allowance.settle(first, Usage(2_000, 1_000))
        promised = second.result(10)
    assert promised.request == request
    allowance.settle(promised, Usage(2_000, 24_000))
    with pytest.raises(SuiteStopped, match="29,000 of 30,000 used"):
        allowance.promise(request, prompt, lambda usage: None)


def test_an_author_who_does_not_answer_stops_the_suite(tmp_path: Path) -> None:
    tasks, out = tasks_in(tmp_path / "tasks", 6), tmp_path / "out"
    silent = Fault("status", status=500, times=1000, message="nobody home")
    with ScriptedServer(Script(reply=kernel("passed 1.2"), faults=(silent,))) as server:
        done = run(tasks, out, server.base_url, 1)
    assert "nobody home" in done.stderr
    assert "6 jobs are left" in done.stderr
    assert len(server.log) < 6, "three in a row are enough"
    assert read_suite(out).rows == ()


def test_what_ended_in_an_error_is_paid_for(tmp_path: Path) -> None:
    """It stays so in the next session, also where a task's text changed meanwhile."""
    tasks, out = tasks_in(tmp_path / "tasks", 4), tmp_path / "out"
    with ScriptedServer(Script(reply=kernel("no verdict"))) as server:
        run(tasks, out, server.base_url, 1)
        rows = read_suite(out).rows
        assert [(row.outcome, row.attempts) for row in rows] == [("error", 0)] * 4
        assert all(row.tokens and (out / "runs" / str(row.run)).is_dir() for row in rows)
        paid = len(server.log)
        (tasks / "0_relu.py").write_text(f"{TASK}\n# another\n")
        run(tasks, out, server.base_url, 1, sum(row.tokens for row in rows))
        assert len(server.log) == paid
    assert "the suite's limit is reached" in read_suite(out).why_unfinished


def test_time_that_is_over_ends_a_job_at_its_next_step() -> None:
    observer = _StoppableObserver(Allowance(SuiteLimits(max_minutes=1), seconds_before=61))
    with pytest.raises(SuiteStopped, match="the time is over"):
        observer.activity_changed(Activity("judge"))
