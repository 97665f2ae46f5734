"""What one job does about a machine, or a task, that fails."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sample_suite import SPECIFICATION

from tilesmith.errors import MachineError, ReferenceTooSlow, TilesmithError
from tilesmith.records import Evaluation
from tilesmith.suite.allowance import Allowance
from tilesmith.suite.jobs import Work, Workplace, carry_out
from tilesmith.suite.records import Job, JobOutcome, SuiteLimits
from tilesmith.tasks.user_code.task_name import TaskName


class FailingEvaluator:
    def __init__(self, error: TilesmithError) -> None:
        self.error, self.asked = error, 0

    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        self.asked += 1
        raise self.error


@pytest.mark.parametrize(("error", "asked"), [(MachineError("was killed"), 2), (ReferenceTooSlow("hangs"), 1)])
def test_what_may_pass_is_tried_once_more_and_what_hangs_is_not(
    error: TilesmithError, asked: int, tmp_path: Path
) -> None:
    evaluator = FailingEvaluator(error)

    @contextlib.contextmanager
    def opened(work: Work) -> Iterator[FailingEvaluator]:
        yield evaluator

    workplace = Workplace(tmp_path / "runs", Allowance(SuiteLimits()), opened, print, {})  # type: ignore[arg-type]
    row = carry_out(Job("a", TaskName("a.py"), "a", kernel="k.py"), SPECIFICATION, workplace)
    assert (row.outcome, row.why, evaluator.asked) == (JobOutcome.ERROR, str(error), asked)
