"""Expressions over sizes that give a number in all traces."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tilesmith.tasks.numbers.size_expressions import explain
from tilesmith.tasks.numbers.varying import make_varying

SHAPES = ((8, 100, 64), (3, 61, 64), (8, 200, 64), (16, 100, 64), (8, 100, 40))
SIZES = {name: make_varying(values) for name, values in zip("BTC", zip(*SHAPES, strict=True), strict=True)}
EXPLAINED: dict[str, Callable[[int, int, int], float]] = {
    "T": lambda b, t, c: t,
    "T - 1": lambda b, t, c: t - 1,
    "2 * T - 1": lambda b, t, c: 2 * t - 1,
    "C // 8": lambda b, t, c: c // 8,
    "-(-T // 7)": lambda b, t, c: math.ceil(t / 7),
    "-T % 16": lambda b, t, c: (16 - t % 16) % 16,
    "-(-T // 16) * 16": lambda b, t, c: (t + 15) // 16 * 16,
    "B * T": lambda b, t, c: b * t,
    "B * T * C - 1": lambda b, t, c: b * t * c - 1,
    "B + C": lambda b, t, c: b + c,
    "512 - T": lambda b, t, c: 512 - t,
    "C ** 0.5": lambda b, t, c: math.sqrt(c),
    "C ** -0.5": lambda b, t, c: 1 / math.sqrt(c),
    "(C // 8) ** -0.5": lambda b, t, c: (c // 8) ** -0.5,
    "1 / T": lambda b, t, c: 1 / t,
    "0.1 / (T - 1)": lambda b, t, c: 0.1 / (t - 1),
    "1 / (T * C)": lambda b, t, c: 1 / (t * c),
    "math.log(T)": lambda b, t, c: math.log(t),
    "0.5 * math.log(T)": lambda b, t, c: math.log(t) / 2,
    "2.5 * C ** 0.5": lambda b, t, c: 2.5 * c**0.5,
}


@pytest.mark.parametrize("wanted", EXPLAINED)
def test_the_expression_is_found(wanted: str) -> None:
    found = explain(make_varying([EXPLAINED[wanted](*shape) for shape in SHAPES]), SIZES)
    assert found is not None
    assert found.write(str) == wanted


@pytest.mark.parametrize("compute", [lambda b, t, c: t**3.5, lambda b, t, c: t * t + 7 * b, lambda b, t, c: b ^ t])
def test_nothing_is_made_up(compute: Callable[[int, int, int], float]) -> None:
    assert explain(make_varying([compute(*shape) for shape in SHAPES]), SIZES) is None


def test_sizes_that_are_always_equal_are_named_together() -> None:
    found = explain(SIZES["T"], {"x.shape[1]": SIZES["T"], "y.shape[0]": SIZES["T"], "x.shape[0]": SIZES["B"]})
    assert found is not None
    assert found.equal == (("x.shape[1]", "y.shape[0]"),)


def test_rounding_that_no_trace_shows_is_told() -> None:
    found = explain(make_varying([c // 8 for _, _, c in SHAPES]), SIZES)
    assert found is not None
    assert found.divisor == 8
    found = explain(make_varying([t // 8 for _, t, _ in SHAPES]), SIZES)
    assert found is not None
    assert found.divisor is None
