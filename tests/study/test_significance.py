"""Exact tests against numbers worked out by hand or known from textbooks."""

from __future__ import annotations

import pytest

from tilesmith.study.significance import MOST_SPLITS, fisher_test, mean_difference, permutation_test


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        ([1.0], [1.0], 1.0),
        ([2.0, 2.0, 2.0], [1.0, 1.0, 1.0], 2 / 20),
        ([2.0, 2.1, 2.2, 2.3], [1.0, 1.1, 1.2, 1.3], 2 / 70),
        ([1.0, 2.0], [1.0, 2.0], 1.0),
        ([3.0, 1.0], [2.0, 0.0], 4 / 6),
        ([5.0], [1.0, 2.0, 3.0], 1 / 4),
    ],
)
def test_every_way_to_deal_is_counted(first: list[float], second: list[float], p: float) -> None:
    assert permutation_test([(first, second)]) == pytest.approx(p)
    assert permutation_test([(second, first)]) == pytest.approx(p)


def test_tasks_are_not_mixed() -> None:
    """Pooled, the difference between tasks would hide the one between the sides."""
    strata = [([10.1, 10.2], [10.0, 9.9]), ([1.1, 1.2], [1.0, 0.9])]
    assert mean_difference(strata) == pytest.approx(0.2)
    assert permutation_test(strata) == pytest.approx(2 / 36)


def test_many_runs_are_sampled_and_always_alike() -> None:
    first, second = [float(one) for one in range(12)], [float(one) + 20 for one in range(12)]
    p = permutation_test([(first, second)])
    assert p == permutation_test([(first, second)]) == pytest.approx(1 / (MOST_SPLITS + 1))
    assert permutation_test([(first, [one + 0.1 for one in first])]) > 0.5


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        ((3, 1), (1, 3), 34 / 70),  # the lady tasting tea
        ((1, 9), (11, 3), 0.0027594561852200836),
        ((2, 0), (2, 0), 1.0),
        ((4, 0), (0, 4), 2 / 70),
    ],
)
def test_fisher(first: tuple[int, int], second: tuple[int, int], p: float) -> None:
    assert fisher_test(first, second) == pytest.approx(p)
    assert fisher_test(second, first) == pytest.approx(p)
