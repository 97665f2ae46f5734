"""Two suites side by side, task by task: what the second won and lost, and whether that is more than chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any

from tilesmith.records import Speedup, to_json
from tilesmith.runs.compared.comparison import SettingDifference, setting_differences
from tilesmith.runs.compared.significance import mcnemar_test, sign_flip_test
from tilesmith.suite.records import JobOutcome, Row, Suite, SuiteSpecification
from tilesmith.suite.statistics.samples import rows_by_task

PYTORCH = Speedup(1.0, 1.0, 1.0)
"""The speed of a task that is kept for PyTorch."""
_RANK = {JobOutcome.PASSED: 2, JobOutcome.KEPT: 1, JobOutcome.FAILED: 0}


class Standing(StrEnum):
    """What the second suite did with a task that both have."""

    WON = "won"
    """Faster, and the 95 % intervals do not overlap; or a better outcome, where one of them has no speed."""
    LOST = "lost"
    EQUAL = "equal"
    """The same outcome; where both have a speed, the intervals overlap, so that neither is known to be faster."""
    UNKNOWN = "unknown"
    """One of them ended in an error of the task or the machine, which says nothing of kernels."""


@dataclass(frozen=True)
class TaskComparison:
    """One task in both suites; of several samples, the best stands for its task."""

    task: str
    first: JobOutcome
    second: JobOutcome
    first_score: float | None
    """Speedup over the best baseline; 1.0 for a task that is kept for PyTorch, where the other one was timed."""
    second_score: float | None
    ratio: float | None
    """The second score over the first."""
    standing: Standing
    why: str
    """How the second ended, where its outcome is another."""


@dataclass(frozen=True)
class SuiteComparison:
    """Two suites. Ratios are the second over the first: above 1 the second is faster."""

    first: str
    """Its name; its folder where the command line compares."""
    second: str
    tasks: tuple[TaskComparison, ...]
    """That have an outcome in both."""
    won: int
    lost: int
    equal: int
    unknown: int
    only_first: tuple[str, ...]
    """Tasks that have an outcome in the first alone."""
    only_second: tuple[str, ...]
    timed: int
    """Tasks with a speed in both, one of which was measured; 0 where only outcomes can be compared."""
    geometric_mean: float | None
    """Of the ratios of those tasks."""
    speed_p: float | None
    """Of a sign-flip test on the logarithms of those ratios: the probability of a mean at least as far from 1 if
    each ratio were as likely to be upside down."""
    newly_correct: int
    """Tasks with a kernel that passed in the second alone. Errors of a task or a machine are left out."""
    no_longer_correct: int
    correct_p: float
    """McNemar's exact test on those two numbers."""
    settings: tuple[SettingDifference, ...]
    notes: tuple[str, ...]
    """Why the numbers may not be comparable, a sentence each."""


def compare_suites(first: Suite, second: Suite) -> SuiteComparison:
    ones, others = (
        {name: _best_sample(rows) for name, rows in rows_by_task(one.rows).items()} for one in (first, second)
    )
    tasks = tuple(_compare(row, others[name]) for name, row in ones.items() if name in others)
    logs = [math.log(one.ratio) for one in tasks if one.ratio]
    standings = [one.standing for one in tasks]
    judged = [one for one in tasks if one.standing is not Standing.UNKNOWN]
    gained = sum(one.second is JobOutcome.PASSED is not one.first for one in judged)
    lost = sum(one.first is JobOutcome.PASSED is not one.second for one in judged)
    return SuiteComparison(
        first=first.specification.name,
        second=second.specification.name,
        tasks=tasks,
        won=standings.count(Standing.WON),
        lost=standings.count(Standing.LOST),
        equal=standings.count(Standing.EQUAL),
        unknown=standings.count(Standing.UNKNOWN),
        only_first=tuple(name for name in ones if name not in others),
        only_second=tuple(name for name in others if name not in ones),
        timed=len(logs),
        geometric_mean=math.exp(fmean(logs)) if logs else None,
        speed_p=sign_flip_test(logs) if logs else None,
        newly_correct=gained,
        no_longer_correct=lost,
        correct_p=mcnemar_test(gained, lost),
        settings=setting_differences(*_settings(first.specification, second.specification)),
        notes=tuple(_notes(first, second, tasks)),
    )


def _best_sample(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: (_RANK.get(row.outcome, -1), row.score or 0.0))


def _compare(first: Row, second: Row) -> TaskComparison:
    one, other = _speed(first, second), _speed(second, first)
    ratio = other.value / one.value if one and other and one.value > 0 and other.value > 0 else None
    return TaskComparison(
        *(first.task, first.outcome, second.outcome),
        first_score=one.value if one else None,
        second_score=other.value if other else None,
        ratio=ratio,
        standing=_standing(first, second, one, other),
        why=second.why if second.outcome is not first.outcome else "",
    )


def _speed(row: Row, other: Row) -> Speedup | None:
    """Over its best baseline; PyTorch's own where that is kept and the other was timed."""
    if row.outcome is JobOutcome.KEPT:
        return PYTORCH if _measured(other) else None
    return _measured(row)


def _measured(row: Row) -> Speedup | None:
    if not row.passed or row.score is None:
        return None
    return min(row.speedup.values(), key=lambda gain: gain.value, default=None)


def _standing(first: Row, second: Row, one: Speedup | None, other: Speedup | None) -> Standing:
    if JobOutcome.ERROR in (first.outcome, second.outcome):
        return Standing.UNKNOWN
    if one is not None and other is not None:
        return Standing.WON if other.low > one.high else Standing.LOST if other.high < one.low else Standing.EQUAL
    better = _RANK[second.outcome] - _RANK[first.outcome]
    return Standing.WON if better > 0 else Standing.LOST if better < 0 else Standing.EQUAL


def _settings(*suites: SuiteSpecification) -> Iterator[dict[str, Any]]:
    """By the names of the options; those of the forge where both suites have any."""
    for asked in suites:
        forge = to_json(asked.settings) if all(one.settings for one in suites) else {}
        author = {"author": asked.author.name if asked.author else "others"}
        yield author | to_json(asked.selection) | to_json(asked.check) | forge


def _machine(device: str) -> str:
    """A run and a verdict name a machine without a GPU in different words."""
    return "no GPU" if device.startswith(("no GPU", "CPU ")) else device


def _notes(first: Suite, second: Suite, tasks: Sequence[TaskComparison]) -> Iterator[str]:
    devices = [sorted({_machine(row.device) for row in suite.rows if row.device}) for suite in (first, second)]
    if devices[0] != devices[1]:
        told = (", ".join(names) or "unknown" for names in devices)
        yield "different machines: {} and {}".format(*told)
    if first.tilesmith != second.tilesmith:
        yield f"different versions of tilesmith: {first.tilesmith} and {second.tilesmith}"
    samples = [max(map(len, rows_by_task(suite.rows).values()), default=0) for suite in (first, second)]
    if max(samples) > 1:
        yield f"the best of up to {samples[0]} and of up to {samples[1]} kernels stands for each task"
    if not first.judges_others and not second.judges_others:
        digests = {row.key: row.digest for row in first.rows}
        other = [row.key for row in second.rows if digests.get(row.key, row.digest) != row.digest]
        if other:
            yield f"{len(other)} tasks have another text in the second, {other[0]} for one"
    for name, suite in (("first", first), ("second", second)):
        left = len(suite.keys) - len(suite.rows)
        if left:
            yield f"the {name} is not finished: {left} of {len(suite.keys)} jobs have no outcome"
    if tasks and not any(one.ratio for one in tasks):
        yield "no task was timed in both, so only outcomes are compared"
    if not tasks:
        yield "no task has an outcome in both"
