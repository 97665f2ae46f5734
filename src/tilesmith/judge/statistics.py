"""Percentiles and a bootstrap interval, from plain lists of samples."""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import median

from tilesmith.records import Quantiles, Speedup

_RESAMPLES = 400


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
    """Ratio of medians with a 95 % interval. Whole rounds are resampled, so drift of the clock stays paired."""
    value = median(_flat(baseline)) / median(_flat(candidate))
    chance = random.Random(seed)
    rounds = range(len(candidate))
    ratios = []
    for _ in range(_RESAMPLES):
        chosen = [chance.choice(rounds) for _ in rounds]
        top = _resample(chance, [baseline[r] for r in chosen])
        bottom = _resample(chance, [candidate[r] for r in chosen])
        ratios.append(median(top) / median(bottom))
    return Speedup(round(value, 4), round(quantile(ratios, 0.025), 4), round(quantile(ratios, 0.975), 4))


def _resample(chance: random.Random, rounds: Sequence[Sequence[float]]) -> list[float]:
    return [chance.choice(samples) for samples in rounds for _ in samples]


def _flat(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [sample for samples in rounds for sample in samples]
