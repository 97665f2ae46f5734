"""Percentiles and a bootstrap interval, from plain lists of samples."""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import median

from tilesmith.records import Quantiles, Speedup

_RESAMPLES = 300


def quantiles(samples: Sequence[float]) -> Quantiles:
    return Quantiles(*(round(quantile(samples, share), 6) for share in (0.2, 0.5, 0.8)))


def quantile(samples: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics."""
    ordered = sorted(samples)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def speedup(baseline: Sequence[Sequence[float]], candidate: Sequence[Sequence[float]], seed: int = 0) -> Speedup:
    """Ratio of medians over rounds with a 95 % interval; rounds are resampled in pairs, so drift cancels."""
    pairs = [(median(top), median(bottom)) for top, bottom in zip(baseline, candidate, strict=True)]
    chance = random.Random(seed)
    ratios = [_ratio(chance.choices(pairs, k=len(pairs))) for _ in range(_RESAMPLES)]
    return Speedup(round(_ratio(pairs), 4), round(quantile(ratios, 0.025), 4), round(quantile(ratios, 0.975), 4))


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return median(top for top, _ in pairs) / median(bottom for _, bottom in pairs)
