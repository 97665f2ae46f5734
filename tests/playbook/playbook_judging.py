"""Written kernels before the whole judge: a few in every run of the suite, all of them in `make test-all`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest

from tilesmith.judge import Judge
from tilesmith.playbook.recipe import Match, Tuning
from tilesmith.records import Evaluation, Verdict


def some_of(names: Iterable[str], chosen: Collection[str]) -> list[Any]:
    """Parameters of a test: `chosen` always, the others in `make test-all` only."""
    listed = list(names)
    assert set(chosen) <= set(listed)
    return [pytest.param(name, marks=() if name in chosen else pytest.mark.slow_suite) for name in listed]


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
