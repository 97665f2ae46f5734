"""What a finished run comes to in a suite."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sample_run import EVENTS, make_run

from tilesmith.records import FinishedEvent
from tilesmith.suite.jobs import row_of_run
from tilesmith.suite.records import Job, JobOutcome
from tilesmith.tasks.user_code.task_name import TaskName

FINISHED = EVENTS[-1]
assert isinstance(FINISHED, FinishedEvent)
TOO_SLOW = replace(FINISHED, faster=False, score=0.9, why="PyTorch is kept: 0.90x", keeps_pytorch=True)


@pytest.mark.parametrize(
    ("finished", "outcome", "score"),
    [
        pytest.param(FINISHED, JobOutcome.PASSED, 1.36, id="a faster kernel"),
        pytest.param(TOO_SLOW, JobOutcome.KEPT, None, id="a right kernel that PyTorch beats"),
    ],
)
def test_what_a_run_comes_to(
    finished: FinishedEvent, outcome: JobOutcome, score: float | None, tmp_path: Path
) -> None:
    with closing(make_run(tmp_path, (*EVENTS[:-1], finished))) as run:
        path = run.path
    row = row_of_run(Job("gru", TaskName("gru.py"), "gru"), path)
    assert (row.outcome, row.score) == (outcome, score)
