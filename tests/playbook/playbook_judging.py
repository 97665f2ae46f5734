"""Written kernels before the whole judge: a few in every run of the suite, all of them in `make test-all`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tilesmith.judge import Judge
from tilesmith.playbook.recipe import Match, Tuning
from tilesmith.records import Evaluation, Verdict

ONE_TARGET = ["sm_90", pytest.param("sm_80", marks=pytest.mark.slow_suite)]
"""For a test that compiles many kernels."""


def some_of(names: Iterable[str], chosen: Collection[str]) -> list[Any]:
    """Parameters of a test: `chosen` always, the others in `make test-all` only."""
    listed = list(names)
    assert set(chosen) <= set(listed)
    return [pytest.param(name, marks=() if name in chosen else pytest.mark.slow_suite) for name in listed]


def on_targets(names: Iterable[str], chosen: Mapping[str, str]) -> list[Any]:
    """Parameters (name, target) of a test that compiles: `chosen` always, both targets of all in `make test-all`
    only. Their texts are held by goldens and their values by the interpreter; what a compiler makes of each kind of
    kernel shows in a few of them."""
    listed = list(names)
    assert set(chosen) <= set(listed)
    pairs = [(name, target) for name in listed for target in ("sm_80", "sm_90")]
    later = pytest.mark.slow_suite
    return [pytest.param(*pair, marks=() if chosen.get(pair[0]) == pair[1] else later) for pair in pairs]


def judge_written(judge: Judge, folder: Path, task: str, match: Match, tuning: Tuning) -> Evaluation:
    """The judge's word on what `match` writes."""
    task_path, kernel_path = folder / "task.py", folder / "kernel.py"
    task_path.write_text(task)
    kernel_path.write_text(match.write(tuning))
    return judge.check(task_path, kernel_path)


def assert_clean(evaluation: Evaluation, launches: int = 1) -> None:
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
    assert evaluation.findings == ()
    assert evaluation.generality in ("general", None)
    assert evaluation.launches == launches
