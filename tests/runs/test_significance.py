"""Exact tests against numbers worked out by hand or known from textbooks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilesmith.runs.compared.significance import (
    MOST_SPLITS,
    fisher_test,
    mcnemar_test,
    mean_difference,
    permutation_test,
    sign_flip_test,
)


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


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([], 1.0),
        ([0.3], 1.0),
        ([1.0, 2.0, 3.0], 2 / 8),
        ([-1.0, 2.0, 3.0], 4 / 8),
        ([0.0] * 5, 1.0),
        ([0.1] * 10, 2 / 1024),
    ],
)
def test_every_choice_of_signs_is_counted(differences: list[float], p: float) -> None:
    assert sign_flip_test(differences) == pytest.approx(p)
    assert sign_flip_test([-one for one in differences]) == pytest.approx(p)


_SCORES = st.integers(-32, 32).map(lambda number: number / 8)
"""No two sums of these lie closer than what rounding may do, for which the two tests allow differently."""


@given(st.lists(st.tuples(_SCORES, _SCORES), min_size=1, max_size=6))
def test_flipping_a_sign_is_dealing_a_pair_out(pairs: list[tuple[float, float]]) -> None:
    dealt = permutation_test([([first], [second]) for first, second in pairs])
    assert sign_flip_test([first - second for first, second in pairs]) == pytest.approx(dealt)


def test_many_differences_are_sampled_and_always_alike() -> None:
    one_way = [0.01 * number for number in range(1, 251)]
    assert sign_flip_test(one_way) == sign_flip_test(one_way) == pytest.approx(1 / (MOST_SPLITS + 1))
    both_ways = [one if number % 2 else -one for number, one in enumerate(one_way)]
    assert sign_flip_test(both_ways) > 0.5


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (3, 3, 1.0), (6, 0, 2 / 64), (8, 2, 2 * 56 / 1024), (1, 4, 2 * 6 / 32)],
)
def test_mcnemar(gained: int, lost: int, p: float) -> None:
    assert mcnemar_test(gained, lost) == pytest.approx(p)
    assert mcnemar_test(lost, gained) == pytest.approx(p)
