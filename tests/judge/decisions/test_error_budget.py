"""The error budget: what passes, what fails and under which name, and that honest rounding never fails."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from tilesmith.judge.decisions.error_budget import allowance, judge_outputs
from tilesmith.process.protocol.comparison import ExactStatistics, FloatStatistics, WorstElement
from tilesmith.records import Verdict


def floats(**changed: Any) -> FloatStatistics:
    """A thousand float32 numbers, both sides with the same small error."""
    stats = FloatStatistics(
        kind="float",
        dtype="float32",
        numel=1000,
        misplaced=0,
        relative=1e-5,
        max_relative=1e-5,
        eager_relative=1e-5,
        eager_max_relative=1e-5,
        max_abs=2e-5,
        mean_abs=1e-5,
        effective=1e6,
        worst=(WorstElement((3, 4), "1.0", "2.0"),),
    )
    return replace(stats, **changed)


def integers(mismatches: int) -> ExactStatistics:
    worst = tuple(WorstElement((i,), "1", "2") for i in range(min(mismatches, 3)))
    return ExactStatistics("exact", "int64", 10, mismatches, worst)


def verdict(k: float = 2.0, **changed: Any) -> Verdict:
    return judge_outputs([floats(**changed)], k, "own").verdict


def from_errors(candidate: list[float], eager: list[float], dtype: str = "float32") -> FloatStatistics:
    """The statistics of errors around a truth of all ones, as the reference child would measure them."""
    n = len(eager)
    squares = [e * e for e in eager]
    return floats(
        dtype=dtype,
        numel=n,
        relative=math.sqrt(sum(e * e for e in candidate) / n),
        eager_relative=math.sqrt(sum(squares) / n),
        max_relative=max(map(abs, candidate)),
        eager_max_relative=max(map(abs, eager)),
        effective=sum(squares) ** 2 / sum(s * s for s in squares),
    )


def test_as_accurate_as_pytorch_passes_and_is_reported() -> None:
    judgment = judge_outputs([floats()], 2.0, "own")
    assert judgment.verdict is Verdict.PASSED
    assert judgment.errors is not None
    assert judgment.errors.ratio == pytest.approx(1.0)
    assert (judgment.errors.max_abs, judgment.errors.mean_abs) == (2e-5, 1e-5)


@pytest.mark.parametrize("which", ["relative", "max_relative"])
def test_up_to_k_times_pytorchs_error_and_no_more(which: str) -> None:
    assert verdict(**{which: 1.99e-5}) is Verdict.PASSED
    assert verdict(**{which: 2.8e-5}) is Verdict.INACCURATE
    assert verdict(k=3.0, **{which: 2.8e-5}) is Verdict.PASSED


@pytest.mark.parametrize(
    ("relative", "peak", "expected"),
    [
        (0.019, 0.019, Verdict.INACCURATE),
        (0.021, 0.021, Verdict.WRONG_VALUES),
        (0.001, 0.09, Verdict.INACCURATE),
        (0.001, 0.11, Verdict.WRONG_VALUES),
        (1e30, 1e30, Verdict.WRONG_VALUES),
    ],
)
def test_a_little_off_is_inaccurate_and_far_off_is_wrong(relative: float, peak: float, expected: Verdict) -> None:
    assert verdict(relative=relative, max_relative=peak) is expected


def test_one_misplaced_nan_is_wrong_however_small_the_error() -> None:
    judgment = judge_outputs([floats(misplaced=1, relative=0.0, max_relative=0.0)], 2.0, "wild")
    assert judgment.verdict is Verdict.WRONG_VALUES
    assert "1 of 1000 elements are wrongly NaN or infinite" in judgment.message
    assert "wild" in judgment.message


def test_integers_must_match() -> None:
    assert judge_outputs([integers(0)], 2.0, "own").verdict is Verdict.PASSED
    judgment = judge_outputs([integers(4)], 1000.0, "own")
    assert judgment.verdict is Verdict.WRONG_VALUES
    assert "4 of 10 integers differ" in judgment.message
    assert judgment.errors is not None
    assert judgment.errors.relative == pytest.approx(0.4)
    assert judgment.errors.ratio is None


def test_the_message_names_output_draw_numbers_and_places() -> None:
    message = judge_outputs([floats(), floats(relative=0.5, max_relative=0.5)], 2.0, "sparse").message
    for part in (
        "output 1",
        "sparse",
        "relative error 0.5",
        "PyTorch has 1e-05",
        "at (3, 4): expected 1.0, got 2.0",
    ):
        assert part in message
    assert "the output" in judge_outputs([floats(misplaced=1)], 2.0, "own").message


def test_one_bad_output_among_many_decides() -> None:
    outputs = [floats(), integers(0), floats(relative=0.5), floats()]
    assert judge_outputs(outputs, 2.0, "own").verdict is Verdict.WRONG_VALUES


def test_the_largest_error_of_several_outputs_is_reported() -> None:
    judgment = judge_outputs([floats(relative=1e-6), floats(relative=1.5e-5), floats(relative=1e-7)], 2.0, "own")
    assert judgment.errors is not None
    assert judgment.errors.relative == 1.5e-5


def test_a_task_without_outputs_passes_without_errors() -> None:
    assert judge_outputs([], 2.0, "own").errors is None


@pytest.mark.parametrize(
    ("dtype", "ulp"),
    [("float64", 2**-52), ("float32", 2**-23), ("float16", 2**-10), ("bfloat16", 2**-7), ("float8_e4m3fn", 2**-3)],
)
def test_where_pytorch_is_exact_half_a_ulp_passes(dtype: str, ulp: float) -> None:
    rounding = 0.5 * ulp / (1 + 0.5 * ulp)
    exact = {"dtype": dtype, "eager_relative": 0.0, "eager_max_relative": 0.0, "effective": 0.0}
    assert verdict(relative=rounding, max_relative=rounding, **exact) is Verdict.PASSED


@pytest.mark.parametrize(
    ("dtype", "error"),
    [("float64", 2**-24), ("float32", 2**-11), ("float32", 2**-16), ("float16", 2**-6), ("bfloat16", 2**-4)],
)
def test_where_pytorch_is_exact_the_rounding_of_a_narrower_type_fails(dtype: str, error: float) -> None:
    exact = {"dtype": dtype, "eager_relative": 0.0, "eager_max_relative": 0.0, "effective": 0.0}
    assert verdict(relative=error, max_relative=error, **exact) is not Verdict.PASSED


def test_the_ratio_is_unknown_where_pytorch_is_exact() -> None:
    judgment = judge_outputs([floats(eager_relative=0.0, eager_max_relative=0.0, relative=1e-8)], 2.0, "own")
    assert judgment.errors is not None
    assert judgment.errors.ratio is None


def test_k_widens_where_few_elements_carry_pytorchs_error() -> None:
    factors = [allowance(floats(effective=n, eager_relative=1.0), 2.0)[0] for n in (0, 1, 4, 100, 1e8)]
    assert factors[0] == factors[1]
    assert factors == sorted(factors, reverse=True)
    assert factors[1] > 40
    assert factors[-1] == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-8, 1e-5, 1e-3])
@pytest.mark.parametrize("elements", [1, 2, 5, 50])
def test_honest_rounding_almost_never_fails(elements: int, scale: float) -> None:
    """Candidate and PyTorch err alike and independently: at most one draw in a thousand may fail by chance."""
    chance = random.Random(elements)
    trials = 4000
    failures = 0
    for _ in range(trials):
        ours, theirs = ([chance.gauss(0, scale) for _ in range(elements)] for _ in range(2))
        failures += judge_outputs([from_errors(ours, theirs)], 2.0, "own").verdict is not Verdict.PASSED
    assert failures <= trials // 1000


def test_four_times_pytorchs_error_is_caught_where_there_are_elements_to_tell() -> None:
    chance = random.Random(0)
    caught = 0
    for _ in range(50):
        theirs = [chance.gauss(0, 1e-5) for _ in range(400)]
        ours = [chance.gauss(0, 4e-5) for _ in range(400)]
        caught += judge_outputs([from_errors(ours, theirs)], 2.0, "own").verdict is Verdict.INACCURATE
    assert caught == 50


def test_one_wrong_element_among_many_is_caught_by_its_size() -> None:
    theirs = [1e-6] * 10_000
    ours = [*theirs[:-1], 1.0]
    assert judge_outputs([from_errors(ours, theirs)], 2.0, "own").verdict is Verdict.WRONG_VALUES
