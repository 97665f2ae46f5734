"""What several kernels for each task say: pass@k, and how fast one kernel of a task is on average and at best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from tilesmith.suite.records import Row
from tilesmith.suite.statistics.speeds import FAST, OVER, SpeedStatistics, gain_of, is_fast, speed_statistics


@dataclass(frozen=True)
class PassAt:
    """The chance that at least one of k kernels passes, drawn at random from the samples of a task."""

    k: int
    tasks: int
    """Those with at least k samples that have an outcome; the others are left out."""
    value: float
    """The mean over those tasks."""


@dataclass(frozen=True)
class FastAtOne:
    """fast_p of one sample drawn at random: the share of a task's samples that passed and are more than p times as
    fast, as the mean over all tasks, so that each counts the same however many samples it has."""

    over: str
    fast_1: float | None
    fast_1_5: float | None
    fast_2: float | None


@dataclass(frozen=True)
class SampleStatistics:
    """Where a task has several kernels. Counts tasks, not kernels."""

    tasks: int
    fewest: int
    """Samples of one task that have an outcome."""
    most: int
    pass_at: tuple[PassAt, ...]
    """k = 1, 5, 10, 20, 50, 100 ... as far as there are samples, and all samples of the task with the most."""
    fast_at_1: dict[str, FastAtOne]
    best_of: dict[str, SpeedStatistics]
    """As if each task had only the sample that is fastest over that baseline."""


def sample_statistics(rows: Sequence[Row], measured: bool) -> SampleStatistics | None:
    """None where no task has more than one sample."""
    tasks = list(rows_by_task(rows).values())
    most = max(map(len, tasks), default=0)
    if most < 2:
        return None
    return SampleStatistics(
        tasks=len(tasks),
        fewest=min(map(len, tasks)),
        most=most,
        pass_at=tuple(_pass_at(k, tasks) for k in _steps(most)),
        fast_at_1={over: FastAtOne(over, *_fast_at_one(over, tasks, measured)) for over in OVER},
        best_of={over: speed_statistics(over, _best_gains(over, tasks), 0, measured) for over in OVER},
    )


def rows_by_task(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """In the order in which tasks first come."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.task, []).append(row)
    return found


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """The unbiased estimate of Chen et al. 2021: one minus the share of the ways to choose k that all fail."""
    return 1 - math.comb(samples - passed, k) / math.comb(samples, k)


def _pass_at(k: int, tasks: Sequence[Sequence[Row]]) -> PassAt:
    counted = [one for one in tasks if len(one) >= k]
    values = [pass_at_k(len(one), sum(row.passed for row in one), k) for one in counted]
    return PassAt(k, len(counted), fmean(values))


def _steps(most: int) -> list[int]:
    usual = [1, *(factor * 10**power for power in range(len(str(most))) for factor in (5, 10, 20))]
    return sorted({*(k for k in usual if k <= most), most})


def _fast_at_one(over: str, tasks: Sequence[Sequence[Row]], measured: bool) -> list[float | None]:
    if not measured:
        return [None] * len(FAST)
    return [fmean(fmean(is_fast(gain_of(row, over), p) for row in one) for one in tasks) for p in FAST]


def _best_gains(over: str, tasks: Sequence[Sequence[Row]]) -> list[float | None]:
    """Of each task; none where no kernel for it passed and was timed."""
    known = ([gain for row in one if (gain := gain_of(row, over)) is not None] for one in tasks)
    return [max(one, default=None) for one in known]
