"""How fast the kernels of a suite are over one baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from tilesmith.records import BASELINES
from tilesmith.suite.records import Row

BEST = "best"
"""The fastest of the baselines that were measured for a task; the score is the speedup over it."""
OVER = (*BASELINES, BEST)
FAST = (1.0, 1.5, 2.0)
"""The p of fast_p."""


@dataclass(frozen=True)
class SpeedStatistics:
    """Over one baseline. Null is what was not measured, never 0."""

    over: str
    """eager, graph, compile, or best: the fastest of those that were measured for the task."""
    timed: int
    """Kernels that passed and were timed against it."""
    fast_1: float | None
    """The share of ALL jobs with an outcome, whatever it was, whose kernel passed and is more than 1 times as fast:
    fast_p as KernelBench counts it. A kernel that passed but was not timed, and a task that is kept for PyTorch, do
    not count as faster. Null where nothing in the suite was timed."""
    fast_1_5: float | None
    fast_2: float | None
    geometric_mean: float | None
    """Of the speedups of the kernels that passed and were timed."""
    median: float | None
    geometric_mean_with_kept: float | None
    """The same with 1.0 for each task that is kept for PyTorch: what all tasks that have an answer gain."""
    median_with_kept: float | None


def speed_statistics(over: str, gains: Sequence[float | None], kept: int, measured: bool) -> SpeedStatistics:
    """Of one gain for each job, none where it has no kernel that passed and was timed."""
    known = [gain for gain in gains if gain is not None]
    with_kept = [*known, *[1.0] * kept] if measured else []
    shares = (fmean(is_fast(gain, p) for gain in gains) if measured and gains else None for p in FAST)
    fast_1, fast_1_5, fast_2 = shares
    middle = (*_middle(known), *_middle(with_kept))
    return SpeedStatistics(over, len(known), fast_1, fast_1_5, fast_2, *middle)


def _middle(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The geometric mean and the median."""
    return geometric_mean(values), median(values) if values else None


def gain_of(row: Row, over: str) -> float | None:
    """How many times as fast its kernel is; none where no kernel passed or it was not timed against this."""
    if not row.passed:
        return None
    if over == BEST:
        return row.score
    return row.speedup[over].value if over in row.speedup else None


def is_fast(gain: float | None, p: float) -> bool:
    return gain is not None and gain > p


def geometric_mean(values: Sequence[float]) -> float | None:
    """Null of no values; 0 where one of them is."""
    if not values:
        return None
    return math.exp(fmean(map(math.log, values))) if min(values) > 0 else 0.0
