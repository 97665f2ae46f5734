"""Measuring outputs against truth: numbers that can be checked by hand."""

from __future__ import annotations

import math

import pytest
import torch

from tilesmith.judge.decisions.error_budget import judge_outputs
from tilesmith.process.protocol.comparison import WorstElement
from tilesmith.records import Verdict
from tilesmith.worker.tensors.exchange import flatten
from tilesmith.worker.truth.error_statistics import layout_problem, measure, same_to_rounding, without_truth

INF, NAN = math.inf, math.nan


def measured(candidate, truth, eager=None, dtype=torch.float32):
    truth = torch.tensor(truth, dtype=torch.float64)
    eager = truth if eager is None else torch.tensor(eager, dtype=torch.float64)
    return measure(torch.tensor(candidate, dtype=dtype), truth, eager.to(dtype), None)


def test_errors_are_relative_to_the_norm_and_to_the_largest_element():
    stats = measured([3.0, 4.5], [3.0, 4.0], [3.0, 4.25])
    assert stats.relative == pytest.approx(0.5 / 5)
    assert stats.max_relative == pytest.approx(0.5 / 4)
    assert stats.eager_relative == pytest.approx(0.25 / 5)
    assert stats.eager_max_relative == pytest.approx(0.25 / 4)
    assert (stats.max_abs, stats.mean_abs) == (0.5, 0.25)
    assert (stats.kind, stats.dtype, stats.numel, stats.misplaced) == ("float", "float32", 2, 0)


def test_the_worst_places_come_first_with_what_was_expected():
    stats = measured([[1.0, 2.5], [3.0, 9.0]], [[1.0, 2.0], [3.0, 4.0]])
    assert [place.index for place in stats.worst] == [(1, 1), (0, 1)]
    assert stats.worst[0] == WorstElement((1, 1), "4.0", "9.0")
    assert measured([0.1], [1 / 3]).worst[0] == WorstElement((0,), "0.333333333", "0.100000001")


def test_a_perfect_output_lists_no_worst_places():
    stats = measured([1.0, 2.0], [1.0, 2.0])
    assert (stats.relative, stats.worst, stats.effective) == (0.0, (), 0.0)


@pytest.mark.parametrize(
    ("candidate", "eager", "misplaced"),
    [
        ([1, NAN, 3], [1, 2, 3], 1),
        ([1, INF, 3], [1, 2, 3], 1),
        ([1, NAN, 3], [1, NAN, 3], 0),
        ([1, INF, 3], [1, INF, 3], 0),
        ([1, -INF, 3], [1, INF, 3], 1),
        ([1, NAN, 3], [1, INF, 3], 1),
        ([1, 2, 3], [1, NAN, 3], 1),
        ([NAN, NAN, NAN], [1, 2, 3], 3),
    ],
)
def test_nan_and_infinity_belong_where_the_reference_has_them(candidate, eager, misplaced):
    stats = measured([float(c) for c in candidate], [float(e) for e in eager], [float(e) for e in eager])
    assert stats.misplaced == misplaced
    assert all(math.isfinite(getattr(stats, key)) for key in ("relative", "max_relative", "max_abs", "mean_abs"))


def test_misplaced_elements_are_named_before_merely_large_errors():
    assert measured([9.0, NAN, 3.0], [1.0, 2.0, 3.0]).worst[0] == WorstElement((1,), "2.0", "nan")


def test_something_where_nothing_should_be_is_beyond_any_bound():
    stats = measured([0.0, 1e-6], [0.0, 0.0])
    assert stats.relative > 1e20
    assert measured([0.0, 0.0], [0.0, 0.0]).relative == 0.0


def test_empty_and_scalar_outputs():
    empty = measure(torch.empty(0, 3), torch.empty(0, 3).double(), torch.empty(0, 3), None)
    assert judge_outputs([empty], 2.0, "own").verdict is Verdict.PASSED
    scalar = measured(2.5, 2.0)
    assert scalar.relative == pytest.approx(0.25)
    assert scalar.worst[0].index == ()


def test_how_many_elements_carry_pytorchs_error():
    numbers = [float(one) for one in range(8)]
    assert measured(numbers, numbers, [one + 0.5 for one in numbers]).effective == pytest.approx(8)
    assert measured(numbers, numbers, [0.5, *numbers[1:]]).effective == pytest.approx(1)


def test_equal_elements_count_once():
    truth = torch.full((37,), 0.3, dtype=torch.float64)
    stats = measure(truth.float(), truth, truth.float())
    assert (stats.numel, stats.distinct, stats.effective) == (37, 1, 1.0)
    large = torch.zeros(1 << 15, dtype=torch.float64)
    assert measure(large.float(), large, large.float()).distinct is None


def test_layout_of_memory_does_not_matter():
    truth = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    columns = truth.float().T.contiguous().T
    columns[1, 2] += 1
    assert measure(columns, truth, truth.float(), None).worst[0].index == (1, 2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.float8_e4m3fn])
def test_every_float_type(dtype):
    truth = torch.linspace(1, 2, 50, dtype=torch.float64)
    stats = measure(truth.to(dtype), truth, truth.to(dtype), None)
    assert stats.relative == stats.eager_relative
    assert stats.dtype == str(dtype).removeprefix("torch.")


def test_complex_numbers_count_both_parts():
    truth = torch.tensor([3 + 4j, 0j], dtype=torch.complex128)
    off = torch.tensor([3 + 4.5j, 0j], dtype=torch.complex64)
    stats = measure(off, truth, truth.to(torch.complex64), None)
    assert stats.relative == pytest.approx(0.1)
    assert measure(off.conj(), truth.conj(), truth.to(torch.complex64).conj(), None).relative == pytest.approx(0.1)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8, torch.bool])
def test_integers_and_booleans_are_counted_not_measured(dtype):
    eager = torch.tensor([[0, 1], [1, 0]], dtype=dtype)
    candidate = eager.clone()
    assert measure(candidate, eager, eager, None).mismatches == 0
    candidate[1, 0] = 0
    stats = measure(candidate, eager, eager, None)
    assert (stats.kind, stats.mismatches, stats.worst[0].index) == ("exact", 1, (1, 0))


@pytest.mark.parametrize(
    "seeds", [range(120), pytest.param(range(120, 600), marks=pytest.mark.slow_suite)], ids=["some", "many"]
)
def test_honest_sums_that_cancel_do_not_fail(seeds):
    """A mean of large numbers of both signs, added in another order: as good as PyTorch's, never the same."""
    failures = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        large = 100 * torch.randn(2048, generator=generator)
        x = torch.cat([large, 1e-2 * torch.randn(2048, generator=generator) - large])
        x = x[torch.randperm(4096, generator=generator)]
        running = torch.cumsum(x.reshape(64, 64).sum(0), 0)[-1] / 4096
        stats = measure(running, x.double().mean(), x.mean(), None)
        if judge_outputs([stats], 2.0, "own").verdict is not Verdict.PASSED:
            failures.append((seed, stats.relative, stats.eager_relative))
    assert len(failures) <= 1, failures


# Forms of outputs


@pytest.mark.parametrize(
    ("got", "want", "message"),
    [
        (torch.zeros(2), torch.zeros(2), None),
        ((torch.zeros(2), torch.zeros(3)), [torch.zeros(2), torch.zeros(3)], None),
        (torch.zeros(2, 1), torch.zeros(2), "output 0 has shape (2, 1), expected (2,)"),
        (
            (torch.zeros(2), torch.zeros(1)),
            (torch.zeros(2), torch.zeros(2)),
            "output 1 has shape (1,), expected (2,)",
        ),
        (torch.zeros(2).half(), torch.zeros(2), "output 0 has dtype float16, expected float32"),
        (torch.zeros(2), (torch.zeros(2),), "returned a tensor, expected 1 outputs"),
        (None, torch.zeros(2), "returned the value None, expected a tensor"),
        (
            {"a": torch.zeros(1)},
            {"b": torch.zeros(1)},
            "a dictionary with keys a, expected a dictionary with keys b",
        ),
    ],
)
def test_the_form_must_match(got, want, message):
    problem = layout_problem(flatten(got), flatten(want))
    assert (problem is None) if message is None else message in problem


# Two runs of one kernel


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (torch.ones(3), torch.ones(3) * (1 + 1e-6), True),
        (torch.ones(3), torch.ones(3) * 1.01, False),
        (torch.tensor([1.0, NAN]), torch.tensor([1.0, NAN]), True),
        (torch.tensor([1.0, NAN]), torch.tensor([1.0, 2.0]), False),
        (torch.tensor([1.0, INF]), torch.tensor([1.0, -INF]), False),
        (torch.ones(3).half(), torch.ones(3).half() + 0.01, True),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), False),
        (torch.tensor([1 + 1j]), torch.tensor([1 + 1j]) * (1 + 1e-6), True),
        (torch.tensor([1 + 1j]), torch.tensor([1 + 2j]), False),
        (torch.empty(0), torch.empty(0), True),
        (torch.ones(3), torch.ones(4), False),
    ],
)
def test_two_runs_agree_up_to_the_order_of_additions(first, second, same):
    assert same_to_rounding(flatten(first), flatten(second)) is same


def test_without_truth_a_long_sum_may_lose_some_bits_and_no_more():
    near = without_truth(measured([1.0, 2.0 + 4e-6], [1.0, 2.0]))
    far = without_truth(measured([1.0, 2.0 + 1e-3], [1.0, 2.0]))
    assert judge_outputs([near], 2.0, "own").verdict is Verdict.PASSED
    assert judge_outputs([far], 2.0, "own").verdict is Verdict.INACCURATE
