"""Numbers of a suite against numbers worked out by hand, and what must hold of any rows."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_suite import many_rows, row, samples_of, suite_of

from tilesmith.suite.records import JobOutcome, Row
from tilesmith.suite.statistics import suite_statistics
from tilesmith.suite.statistics.samples import pass_at_k

ROWS = (
    row("a", eager=4.0, seconds=10.0, tokens=100, dollars=0.5, device="H200"),
    row("b", eager=1.6, seconds=2.5, tokens=50, dollars=0.25, device="H200"),
    row("c", eager=1.0, device="H100"),
    row("d", JobOutcome.KEPT),
    row("e", JobOutcome.FAILED),
    row("f", JobOutcome.FAILED),
    row("g", JobOutcome.FAILED, verdict=None),
    row("h", JobOutcome.ERROR, why="level1/h.py: line 3: no class Model; add one"),
    row("i", JobOutcome.ERROR, why="level1/i.py: line 3: no class Model; add one"),
    row("j", JobOutcome.PASSED),
)


def test_every_number_by_hand() -> None:
    found = suite_statistics(suite_of(*ROWS, left=("k", "l")))
    assert (found.jobs, found.left, found.levels) == (12, 2, {})
    whole = found.whole
    assert (whole.jobs, whole.passed, whole.kept, whole.failed, whole.errors) == (10, 4, 1, 3, 2)
    assert (whole.correct, whole.answered, whole.untimed) == (0.4, 0.5, 1)
    eager, best = whole.speed["eager"], whole.speed["best"]
    assert (eager.timed, eager.fast_1, eager.fast_1_5, eager.fast_2) == (3, 0.2, 0.2, 0.1)
    assert eager.geometric_mean == pytest.approx(6.4 ** (1 / 3))
    assert eager.median == 1.6
    assert eager.geometric_mean_with_kept == pytest.approx(6.4 ** (1 / 4))
    assert eager.median_with_kept == pytest.approx(1.3)
    assert (best.timed, best.fast_1, best.fast_1_5, best.fast_2) == (3, 0.1, 0.1, 0.0)
    assert best.geometric_mean == pytest.approx(0.8 ** (1 / 3))
    assert whole.speed["compile"].median == whole.speed["best"].median == 0.8
    assert whole.failures == {"wrong_values": 2, "no kernel": 1}
    assert whole.error_reasons == {"line 3: no class Model; add one": 2}
    assert (whole.seconds, whole.tokens, whole.dollars) == (12.5, 150, 0.75)
    assert whole.devices == {"H200": 2, "H100": 1}


def test_the_same_error_of_two_tasks_is_one() -> None:
    hangs = (
        row(name, JobOutcome.ERROR, why=f"the reference of {name[-1]} did not answer") for name in ("l/a", "b")
    )
    found = suite_statistics(suite_of(*hangs)).whole.error_reasons
    assert found == {"the reference did not answer": 2}


def test_a_baseline_that_was_not_measured_has_no_mean() -> None:
    graph = suite_statistics(suite_of(*ROWS)).whole.speed["graph"]
    assert (graph.timed, graph.geometric_mean, graph.median) == (0, None, None)


def test_without_times_nothing_is_said_of_speed() -> None:
    found = suite_statistics(suite_of(row("a"), row("b", JobOutcome.KEPT), row("c", JobOutcome.FAILED)))
    assert found.whole.correct == pytest.approx(1 / 3)
    for speed in found.whole.speed.values():
        shares = (speed.fast_1, speed.fast_1_5, speed.fast_2)
        middles = (speed.geometric_mean, speed.median, speed.geometric_mean_with_kept, speed.median_with_kept)
        assert {*shares, *middles} == {None}


def test_nothing_yet_is_null() -> None:
    whole = suite_statistics(suite_of(left=("a",))).whole
    assert (whole.correct, whole.answered, whole.speed["eager"].fast_1) == (None, None, None)


def test_a_level_without_a_kernel_has_none_that_is_faster() -> None:
    rows = row("a", eager=2.0, level="level1"), row("b", JobOutcome.FAILED, level="level2")
    found = suite_statistics(suite_of(*rows))
    assert list(found.levels) == ["level1", "level2"]
    assert found.levels["level1"].speed["eager"].fast_1_5 == 1.0
    assert found.levels["level2"].speed["eager"].fast_1 == 0.0
    assert found.levels["level2"].speed["eager"].geometric_mean is None


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    whole = suite_statistics(suite_of(row("a", dollars=0.5), row("b", dollars=None))).whole
    assert (whole.dollars, whole.known_dollars) == (None, 0.5)


@given(st.integers(1, 250), st.booleans())
def test_what_holds_of_any_suite(count: int, timed: bool) -> None:
    rows = many_rows(count, timed)
    found = suite_statistics(suite_of(*rows))
    whole = found.whole
    assert whole.passed + whole.kept + whole.failed + whole.errors == count
    assert sum(whole.failures.values()) == whole.failed
    assert sum(whole.error_reasons.values()) == whole.errors
    eager, best = whole.speed["eager"], whole.speed["best"]
    if eager.timed and eager.fast_1 is not None:
        assert whole.correct >= eager.fast_1 >= eager.fast_1_5 >= eager.fast_2
        assert eager.fast_1 >= best.fast_1
        assert eager.geometric_mean >= best.geometric_mean
        gains = [one.score for one in rows if one.score]
        assert math.log(best.geometric_mean) == pytest.approx(sum(map(math.log, gains)) / len(gains))
    if found.levels:
        assert sum(one.passed for one in found.levels.values()) == whole.passed


@pytest.mark.parametrize("samples", range(1, 8))
def test_pass_at_k_is_the_share_of_all_choices(samples: int) -> None:
    for passed in range(samples + 1):
        results = [True] * passed + [False] * (samples - passed)
        for k in range(1, samples + 1):
            choices = list(combinations(results, k))
            assert pass_at_k(samples, passed, k) == pytest.approx(sum(map(any, choices)) / len(choices))


def kernels(task: str, passed: int, total: int, eager: float) -> tuple[Row, ...]:
    return tuple(row(task, eager=eager) if one < passed else row(task, JobOutcome.FAILED) for one in range(total))


def test_samples_count_by_task() -> None:
    rows = (*kernels("a", 2, 4, 3.0), *kernels("b", 0, 4, 0), *kernels("c", 1, 2, 1.2), row("c", eager=1.8))
    samples = suite_statistics(suite_of(*samples_of(*rows))).whole.samples
    assert samples is not None
    assert (samples.tasks, samples.fewest, samples.most) == (3, 3, 4)
    assert [(one.k, one.tasks) for one in samples.pass_at] == [(1, 3), (4, 2)]
    assert [one.value for one in samples.pass_at] == pytest.approx([(1 / 2 + 0 + 2 / 3) / 3, 1 / 2])
    first, top = samples.fast_at_1["eager"], samples.best_of["eager"]
    assert (first.fast_1, first.fast_1_5) == pytest.approx(((1 / 2 + 2 / 3) / 3, (1 / 2 + 1 / 3) / 3))
    assert (top.fast_1, top.fast_2) == pytest.approx((2 / 3, 1 / 3))
    assert top.geometric_mean == pytest.approx((3.0 * 1.8) ** 0.5)


def test_ten_samples_have_three_steps_and_one_has_none() -> None:
    samples = suite_statistics(suite_of(*samples_of(*kernels("a", 3, 10, 1.0)))).whole.samples
    assert samples is not None
    assert [one.k for one in samples.pass_at] == [1, 5, 10]
    assert samples.pass_at[1].value == pytest.approx(1 - math.comb(7, 5) / math.comb(10, 5))
    assert suite_statistics(suite_of(row("a"))).whole.samples is None
    untimed = suite_statistics(suite_of(*samples_of(row("a"), row("a", JobOutcome.FAILED)))).whole.samples
    assert untimed is not None
    assert (untimed.fast_at_1["eager"].fast_1, untimed.best_of["eager"].fast_1) == (None, None)
