"""Whole runs with real timing: the playbook's, and scripted ones."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "forge"), str(TESTS / "llm")]

from scripted_run import run_script  # noqa: E402

from tilesmith.records import AttemptEvent, ConfirmationEvent  # noqa: E402
from tilesmith.runs.journal import read_events  # noqa: E402

pytestmark = pytest.mark.gpu
needs_sdk = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="the openai package is not here")


@pytest.mark.parametrize("name", ["softmax", "swiglu"])
def test_the_playbook_forges_a_kernel_and_times_it(tmp_path: Path, name: str) -> None:
    task = TESTS.parent / "examples" / f"{name}.py"
    command = [sys.executable, "-m", "tilesmith", "forge", str(task), "--author", "playbook", "--json"]
    options = ["--runs", str(tmp_path), "--seeds", "2", "--rounds", "0", "--stages", "memory", "--timing-s", "1"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=os.environ)
    document = json.loads(done.stdout)
    assert done.returncode == (3 if document["keeps_pytorch"] else 0), done.stderr
    assert document["keeps_pytorch"] == (document["score"] < 0.97)
    events = read_events(Path(document["run"]) / "events.jsonl")
    scores = [
        one.attempt.score for one in events if isinstance(one, AttemptEvent) and one.attempt.evaluation.passed
    ]
    assert all(score is not None and score > 0 for score in scores)
    confirmed = next(one for one in events if isinstance(one, ConfirmationEvent))
    assert document["score"] == confirmed.score
    assert document["faster"] in (True, False)
    first_line = Path(document["best_path"]).read_text().splitlines()[0]
    assert ("NOT faster" in first_line) == (document["faster"] is False)


@needs_sdk
def test_what_is_slower_is_dropped_by_the_clock(tmp_path: Path) -> None:
    run = run_script("stage_makes_it_worse", tmp_path, ("--device", "cuda", "--no-confirm", "--timing-s", "1"))
    assert run.code == 0, run.stderr
    kept = [one.score for one in run.attempts if one.kept]
    assert kept == sorted(kept), "the best only gets better"
    assert not run.attempt_of("stage-block-1").kept


@needs_sdk
def test_the_rescue_by_analysis_shows_in_the_score(tmp_path: Path) -> None:
    run = run_script("gru_rescued_by_analysis", tmp_path, ("--device", "cuda", "--no-confirm", "--timing-s", "1"))
    assert run.code == 0, run.stderr
    seed, rescued = run.attempt_of("seed-1"), run.attempt_of("repair-2")
    assert rescued.score > 2 * seed.score
    assert run.document["best"] == rescued.candidate.number
