"""kill -9 at any moment, resume, and the run ends as if nothing had happened; no call is made twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import calls_on_disk, only_run, snapshot, verdicts_on_disk
from marked_kernels import analysis, kernel
from script import Script
from scripted_run import CANARY, SCRIPTED_RUNS, environment, forge_command
from scripted_server import Entry, ScriptedServer

from tilesmith.runs.manifest import read_manifest

PROGRAM = [sys.executable, str(Path(__file__).parent / "marked_forge.py")]
REPLIES = {
    "seed-1": kernel("compile_error", "a"),
    "seed-2": kernel("passed 0.4 low gemm time-loop-on-host", "b"),
    "seed-3": "Only prose.",
    "seed-3-again": kernel("passed 0.3", "c"),
    "seed-4": kernel("not judged here", "n"),
    "repair-1": kernel("passed 0.2", "d"),
    "revise-1": kernel("passed 0.5", "e"),
    "analyze-1": analysis("high"),
    "optimize-1": kernel("wrong_values", "f"),
    "repair-2": kernel("wrong_values", "g"),
    "repair-3": kernel("inaccurate", "h"),
    "optimize-2": kernel("passed 0.9", "i"),
    "analyze-2": "no JSON",
    "analyze-2-again": analysis("low"),
    "optimize-3": kernel("passed 1.4", "j"),
    "stage-grid-1": kernel("passed 1.6", "k"),
    "stage-block-1": kernel("wrong_values", "l"),
    "repair-4": kernel("passed 1.5", "m"),
}


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("script")
    for name, text in REPLIES.items():
        (folder / f"{name}.md").write_text(text)
    return folder


@pytest.fixture(scope="module")
def uninterrupted(replies: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A run left alone, and the seconds it took."""
    runs = tmp_path_factory.mktemp("alone") / "runs"
    began = time.monotonic()
    with ScriptedServer(Script(replies)) as server:
        subprocess.run([*PROGRAM, str(runs), server.base_url], check=True, env=environment())
        assert {entry.reply for entry in server.log} == set(REPLIES)
    folder = only_run(runs)
    return folder, time.monotonic() - began


@pytest.mark.parametrize(
    ("chance", "most"),
    [(0, 5), *(pytest.param(number, 10, marks=pytest.mark.slow_suite) for number in (1, 2, 3, 4))],
)
def test_many_kills_and_the_run_ends_the_same(
    replies: Path, uninterrupted: tuple[Path, float], tmp_path: Path, chance: int, most: int
) -> None:
    alone, seconds = uninterrupted
    dice, kills, tales = random.Random(chance), 0, 0
    while kills < most:
        tales += 1
        runs = tmp_path / str(tales) / "runs"
        runs.parent.mkdir()
        with ScriptedServer(Script(replies)) as server:
            commands = _begin_then_resume([*PROGRAM, str(runs), server.base_url], [*PROGRAM, "--resume"], runs)
            moments = _killed_at_random(commands, runs, dice, seconds)
            _assert_nothing_on_disk_was_asked_again(moments, server)
        kills += len(moments)
        folder = only_run(runs)
        assert read_manifest(folder).status == "finished"
        assert snapshot(folder) == snapshot(alone)


def test_the_real_command_killed_and_resumed(tmp_path: Path) -> None:
    """With the real judge; a verdict on disk is not given again."""
    name, dice = "winograd_falls_back", random.Random(7)
    runs = tmp_path / "runs"
    with ScriptedServer(Script(SCRIPTED_RUNS / name, key=CANARY)) as server:
        command = [sys.executable, "-m", "tilesmith"]
        begin_run = [*command, *forge_command(name, server.base_url, runs, "--no-confirm")]
        resume = [*command, "forge", "--json", "--runs", str(runs), "--resume"]
        moments = _killed_at_random(_begin_then_resume(begin_run, resume, runs), runs, dice, 12.0, most=2)
        _assert_nothing_on_disk_was_asked_again(moments, server)
    folder = only_run(runs)
    assert read_manifest(folder).status == "finished"
    assert verdicts_on_disk(folder) == set(range(1, 6))
    lines = (folder / "events.jsonl").read_text().splitlines()
    assert len([line for line in lines if '"event": "attempt"' in line]) == 5, "one line for each verdict"
    assert moments, "it was killed at least once"


def _begin_then_resume(begin_run: list[str], resume: list[str], runs: Path) -> Iterator[list[str]]:
    """A kill before there is a run leaves nothing to resume."""
    while True:
        folders = [one for one in runs.iterdir() if (one / "run.json").exists()] if runs.exists() else []
        yield [*resume, str(folders[0])] if folders else begin_run


ProgressSnapshot = tuple[float, set[str]]
"""When a kill came, and which replies were on disk by then."""


def _killed_at_random(
    commands: Iterator[list[str]], runs: Path, dice: random.Random, seconds: float, most: int = 6
) -> list[ProgressSnapshot]:
    """Start, kill, start again, until it ends by itself; at most so many kills, or it never would."""
    moments: list[ProgressSnapshot] = []
    for command in commands:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), start_new_session=True
        )
        moment = dice.uniform(0.2 * seconds, seconds) if len(moments) < most else None
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            on_disk = set[str]().union(*(calls_on_disk(one) for one in runs.iterdir())) if runs.exists() else set()
            moments.append((time.time(), on_disk))
            continue
        assert process.returncode == 0, process.stderr.read().decode()
        return moments
    raise AssertionError("unreachable")


def _assert_nothing_on_disk_was_asked_again(moments: list[ProgressSnapshot], server: ScriptedServer) -> None:
    log: list[Entry] = server.log
    for when, on_disk in moments:
        again = [entry.reply for entry in log if entry.time > when and entry.sha256 in on_disk]
        assert again == []
