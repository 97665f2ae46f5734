"""What the rows of a suite say together, for the whole and for each level.

A job is a task that was forged, or one kernel of somebody's that was judged. Jobs without an outcome yet count
nowhere but in `left`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilesmith.runs.event_text import one_line
from tilesmith.suite.records import JobOutcome, Row, Suite
from tilesmith.suite.statistics.samples import SampleStatistics, sample_statistics
from tilesmith.suite.statistics.speeds import OVER, SpeedStatistics, gain_of, speed_statistics

NO_KERNEL = "no kernel"
"""The group of failures that have no verdict, because nothing was there to be judged."""
_PLACE = re.compile(r"^\S*[/\\.]\S*: ")
"""The file or task that an error begins with."""


@dataclass(frozen=True)
class GroupStatistics:
    """Some rows together. Shares are of all of them, errors too; null where there are none."""

    jobs: int
    """With an outcome."""
    passed: int
    kept: int
    """PyTorch is kept, because nothing would be faster."""
    failed: int
    errors: int
    """The task or the machine is at fault."""
    correct: float | None
    """The share with a kernel that passed."""
    answered: float | None
    """The share with a kernel that passed, or with reasons to keep PyTorch."""
    untimed: int
    """Kernels that passed and were timed against nothing."""
    speed: dict[str, SpeedStatistics]
    """Over eager, graph, compile and the best of them."""
    failures: dict[str, int]
    """How many failed by each verdict, the most first."""
    error_reasons: dict[str, int]
    """How many errors have each reason, without the name of the file they begin with."""
    seconds: float
    """The sum over jobs, each from its start to its answer. Jobs run beside each other, so it may exceed the time
    that the suite took."""
    attempts: int
    tokens: int
    dollars: float | None
    """Null as soon as the price of one job is unknown."""
    known_dollars: float
    """The sum of the prices that are known."""
    devices: dict[str, int]
    """How many jobs were judged on each machine that is known."""
    samples: SampleStatistics | None
    """Null where no task has several kernels."""


@dataclass(frozen=True)
class SuiteStatistics:
    """A suite in numbers."""

    jobs: int
    """All of the suite."""
    left: int
    """Jobs without an outcome."""
    whole: GroupStatistics
    levels: dict[str, GroupStatistics]
    """By level, in the order of the tasks; empty where all rows are of one level."""


def suite_statistics(suite: Suite) -> SuiteStatistics:
    """Speeds are null where no row of the whole suite was timed; where some were, 0 of a level without a kernel are
    faster."""
    measured = any(row.score is not None for row in suite.rows)
    by_level: dict[str, list[Row]] = {}
    for row in suite.rows:
        by_level.setdefault(row.level, []).append(row)
    levels = {level: group_statistics(rows, measured) for level, rows in by_level.items() if len(by_level) > 1}
    whole = group_statistics(suite.rows, measured)
    return SuiteStatistics(len(suite.keys), len(suite.keys) - len(suite.rows), whole, levels)


def group_statistics(rows: Sequence[Row], measured: bool) -> GroupStatistics:
    """`measured` says whether anything in the suite was timed."""
    count = Counter(row.outcome for row in rows)
    passed, kept = count[JobOutcome.PASSED], count[JobOutcome.KEPT]
    known = [row.dollars for row in rows if row.dollars is not None]
    return GroupStatistics(
        jobs=len(rows),
        passed=passed,
        kept=kept,
        failed=count[JobOutcome.FAILED],
        errors=count[JobOutcome.ERROR],
        correct=passed / len(rows) if rows else None,
        answered=(passed + kept) / len(rows) if rows else None,
        untimed=sum(row.passed and row.score is None for row in rows),
        speed={over: speed_statistics(over, [gain_of(row, over) for row in rows], kept, measured) for over in OVER},
        failures=_most_first(failure_of(row) for row in rows if row.outcome is JobOutcome.FAILED),
        error_reasons=_most_first(error_reason(row) for row in rows if row.outcome is JobOutcome.ERROR),
        seconds=sum(row.seconds for row in rows),
        attempts=sum(row.attempts for row in rows),
        tokens=sum(row.tokens for row in rows),
        dollars=sum(known) if len(known) == len(rows) else None,
        known_dollars=sum(known),
        devices=_most_first(row.device for row in rows if row.device),
        samples=sample_statistics(rows, measured),
    )


def failure_of(row: Row) -> str:
    return row.verdict or NO_KERNEL


def error_reason(row: Row) -> str:
    """Its reason without the name of the file or task, so that the same error of two tasks is one."""
    name = row.task.rpartition("/")[2]
    return one_line(_PLACE.sub("", row.why).replace(f"reference of {name} ", "reference ")) or "no reason given"


def _most_first(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())
