"""Tuning by measurement on a real GPU: the search in its children, the cache, and a whole run that uses both."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilesmith.config import CheckConfig
from tilesmith.forge.tuning.tuner import MeasuringTuner
from tilesmith.judge import Judge
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined
from tilesmith.records import AttemptEvent, CallEvent
from tilesmith.runs.journal import read_events

pytestmark = pytest.mark.gpu
EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1) * 2
def get_inputs():
    return [torch.randn(8192, 4096)]
def get_init_inputs():
    return []
"""
TWO_KERNELS = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.softmax(x, -1) * 2, torch.cumsum(y, 0).exp()
def get_inputs():
    return [torch.randn(16384, 4096), torch.randn(2048, 2048)]
def get_init_inputs():
    return []
"""


def test_times_are_those_of_the_text(tmp_path: Path) -> None:
    """Twice the work takes longer, again and again, and a text that fails does not spoil the next."""
    task = tmp_path / "task.py"
    task.write_text(TINY)
    with Judge(CheckConfig()) as judge:
        match = find_match(judge.survey(task))
        assert not isinstance(match, Declined)
        text = match.write(match.tunings[0])
        slow = text + (
            "\n_forward = ModelNew.forward\n"
            "def _twice(self, *args):\n    _forward(self, *args)\n    return _forward(self, *args)\n"
            "ModelNew.forward = _twice\n"
        )
        with judge.trials(task) as trials:
            assert trials.is_timed
            assert trials.time_ms("raise RuntimeError('no')", 3) is None
            once, twice = [], []
            for _ in range(3):
                once.append(trials.time_ms(text, 5))
                twice.append(trials.time_ms(slow, 5))
    assert all(one is not None for one in (*once, *twice))
    assert max(once) < min(twice), (once, twice)


def test_the_kernels_of_one_file_are_told_apart(tmp_path: Path) -> None:
    """Together they take what the file takes, and the one that does more takes longer."""
    task = tmp_path / "task.py"
    task.write_text(TWO_KERNELS)
    with Judge(CheckConfig()) as judge:
        match = find_match(judge.survey(task))
        assert not isinstance(match, Declined)
        kernels = [part.kernel for part in match.parts if part.is_kernel]
        assert len(kernels) == 2
        text = match.write(match.tunings[0])
        with judge.trials(task) as trials:
            whole = trials.time_ms(text, 8)
            apart = trials.time_kernels(text, 8, kernels)
    assert whole is not None
    assert set(apart) == set(kernels)
    assert sum(apart.values()) == pytest.approx(whole, rel=0.2), (apart, whole)
    assert max(apart.values()) > 2 * min(apart.values()), apart


@pytest.mark.parametrize("name", ["softmax", "mlp_gelu"])
def test_the_winner_is_not_slower_than_the_first_guess(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    task = EXAMPLES / f"{name}.py"
    with Judge(CheckConfig()) as judge:
        survey = judge.survey(task)
        match = find_match(survey)
        assert not isinstance(match, Declined)
        tuner, told = MeasuringTuner(lambda: judge.trials(task), 30.0), []
        began = time.monotonic()
        first = tuner.rank(survey, match, told.append)
        print(f"{name}: {time.monotonic() - began:.1f} s, {first.note}: {first.tunings[0]}")
        assert first.is_timed, first.note
        assert time.monotonic() - began < 60
        assert any("tunings measured: " in line for line in told)
        began = time.monotonic()
        second = tuner.rank(survey, match, told.append)
        assert (second.note, second.tunings[0]) == ("tuning from cache", first.tunings[0])
        assert time.monotonic() - began < 1
        with judge.trials(task) as trials:
            best = min(trials.time_ms(match.write(first.tunings[0]), 20) or 1e9 for _ in range(2))
            guess = min(trials.time_ms(match.write(match.tunings[0]), 20) or 1e9 for _ in range(2))
    assert best <= 1.05 * guess


def test_compiled_kernels_reach_the_child_that_times(tmp_path: Path) -> None:
    """What the compilers' children made is found there: a second compilation would double the time of a search."""
    task = tmp_path / "task.py"
    task.write_text(TINY)
    with Judge(CheckConfig()) as judge:
        match = find_match(judge.survey(task))
        assert not isinstance(match, Declined)
        text = match.write(match.tunings[0])
        with judge.trials(task) as trials:
            (compiled,) = trials.compile([text], 60.0)
            assert compiled.problem is None, compiled.problem
            before = {path.parent.name for path in trials._binaries.rglob("*.cubin")}
            assert before
            assert trials.time_ms(text, 3) is not None
            assert trials._child is not None
            after = {path.parent.name for path in (trials._child.folder / "triton").rglob("*.cubin")}
    assert after == before


def test_a_whole_run_judges_the_winner_once_and_is_quick_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    notes = []
    for _ in range(2):
        command = [sys.executable, "-m", "tilesmith", "forge", str(EXAMPLES / "rmsnorm.py"), "--author", "playbook"]
        began = time.monotonic()
        done = subprocess.run(
            [*command, "--json", "--runs", str(tmp_path / "runs")], capture_output=True, text=True, env=os.environ
        )
        seconds = time.monotonic() - began
        assert done.returncode == 0, done.stderr
        events = read_events(Path(json.loads(done.stdout)["run"]) / "events.jsonl")
        judged = [one for one in events if isinstance(one, AttemptEvent)]
        (note,) = [one.reply.note for one in events if isinstance(one, CallEvent) and one.reply.note]
        print(f"{seconds:.1f} s: {note}: {judged[0].attempt.why}")
        assert len(judged) == 1
        assert seconds < 120
        notes.append(note)
    assert re.match(r"\d+ tunings? measured", notes[0])
    assert notes[1] == "tuning from cache"
