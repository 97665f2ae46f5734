"""Percentiles and the bootstrap interval on samples whose answer is known."""

from __future__ import annotations

import random
import statistics

import pytest

from tilesmith.judge.decisions.statistics import quantile, quantiles, speedup


def rounds(center: float, count: int, seed: int, spread: float = 0.05, calls: int = 5) -> list[list[float]]:
    chance = random.Random(seed)
    return [[center * chance.lognormvariate(0, spread) for _ in range(calls)] for _ in range(count)]


def test_quantiles_interpolate() -> None:
    assert quantile([5.0], 0.2) == 5.0
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([0.0, 10.0], 0.2) == 2.0
    assert quantile([4.0, 1.0], 0.0) == 1.0
    assert quantile([4.0, 1.0], 1.0) == 4.0


def test_quantiles_agree_with_the_standard_library() -> None:
    samples = [random.Random(1).random() for _ in range(101)]
    cuts = statistics.quantiles(samples, n=10, method="inclusive")
    found = quantiles(samples)
    assert (found.p20, found.p50, found.p80) == pytest.approx((cuts[1], cuts[4], cuts[7]), abs=1e-6)


def test_the_interval_holds_the_ratio() -> None:
    gain = speedup(rounds(3.0, 20, 1), rounds(1.5, 20, 2))
    assert gain.low < 2.0 < gain.high
    assert gain.low <= gain.value <= gain.high
    assert gain.high - gain.low < 0.2


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(40):
        gain = speedup(rounds(2.0, 8, 2 * seed, calls=3), rounds(1.0, 8, 2 * seed + 1, calls=3))
        covered += gain.low <= 2.0 <= gain.high
    assert covered >= 34


def test_more_rounds_narrow_it() -> None:
    widths = []
    for count in (5, 20, 60):
        gain = speedup(rounds(2.0, count, 3), rounds(1.0, count, 4))
        widths.append(gain.high - gain.low)
    assert widths == sorted(widths, reverse=True)
    assert widths[2] < 0.6 * widths[0]


def test_a_drifting_clock_cancels_because_rounds_stay_paired() -> None:
    drift = [1 + 0.1 * number for number in range(20)]
    slow = [[2.0 * d * s for s in (0.99, 1.0, 1.01)] for d in drift]
    fast = [[1.0 * d * s for s in (0.99, 1.0, 1.01)] for d in drift]
    gain = speedup(slow, fast)
    assert gain.low == pytest.approx(2.0, rel=0.05)
    assert gain.high == pytest.approx(2.0, rel=0.05)


def test_the_same_samples_give_the_same_interval() -> None:
    assert speedup(rounds(2.0, 6, 5), rounds(1.0, 6, 6)) == speedup(rounds(2.0, 6, 5), rounds(1.0, 6, 6))


def test_constant_samples_have_no_width() -> None:
    gain = speedup([[4.0, 4.0]] * 5, [[2.0, 2.0]] * 5)
    assert (gain.value, gain.low, gain.high) == (2.0, 2.0, 2.0)
