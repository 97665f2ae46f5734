"""missing-other: what lanes past the end hold when they reach a reduction."""

from __future__ import annotations

import pytest

from tilesmith.lint import read_kernel
from tilesmith.lint.rules.memory.missing_other import missing_other
from tilesmith.records import Severity

KERNEL = """
import triton
import triton.language as tl
@triton.jit
def f(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    keep = i < n
"""
DISTURBED = {
    "max without fill": ["x = tl.load(x_ptr + i, mask=keep)", "tl.store(y_ptr, tl.max(x, axis=0))"],
    "max of zeros": ["x = tl.load(x_ptr + i, mask=keep, other=0.0)", "tl.store(y_ptr, tl.max(x * 2, axis=0))"],
    "min": ["x = tl.load(x_ptr + i, keep, 0.0)", "tl.store(y_ptr, tl.min(x, axis=0))"],
    "method": ["x = tl.load(x_ptr + i, keep)", "tl.store(y_ptr, x.max(axis=0))"],
    "variance": [
        "x = tl.load(x_ptr + i, mask=keep, other=0.0)",
        "d = x - tl.sum(x, axis=0) / n",
        "tl.store(y_ptr, tl.sum(d * d, axis=0))",
    ],
    "exponentials": ["x = tl.load(x_ptr + i, mask=keep, other=0.0)", "tl.store(y_ptr, tl.sum(tl.exp(x), axis=0))"],
    "wrong fill": ["x = tl.load(x_ptr + i, mask=keep, other=1.0)", "tl.store(y_ptr, tl.sum(x * x, axis=0))"],
}
QUIET = {
    "neutral fill": ['x = tl.load(x_ptr + i, keep, -float("inf"))', "tl.store(y_ptr, tl.max(x, axis=0))"],
    "filled later": [
        "x = tl.load(x_ptr + i, mask=keep)",
        'x = tl.where(keep, x, float("-inf"))',
        "tl.store(y_ptr, tl.max(x, axis=0))",
    ],
    "filled the other way round": [
        "x = tl.load(x_ptr + i, mask=keep, other=0.0)",
        "d = tl.where(i >= n, 0.0, x - 1.5)",
        "tl.store(y_ptr, tl.sum(d, axis=0))",
    ],
    "multiplied by the mask": [
        "x = tl.load(x_ptr + i, mask=keep, other=0.0)",
        "tl.store(y_ptr, tl.sum((x - 1.5) * keep.to(tl.float32), axis=0))",
    ],
    "magnitudes": ["x = tl.load(x_ptr + i, mask=keep, other=0.0)", "tl.store(y_ptr, tl.max(tl.abs(x), axis=0))"],
    "weighted with zeros": [
        "x = tl.load(x_ptr + i, mask=keep, other=0.0)",
        "w = tl.load(w_ptr + i, mask=keep, other=0.0)",
        "tl.store(y_ptr, tl.sum((x - 1.5) * w, axis=0))",
    ],
    "softmax": [
        'x = tl.load(x_ptr + i, mask=keep, other=-float("inf"))',
        "tl.store(y_ptr, tl.sum(tl.exp(x - tl.max(x, axis=0)), axis=0))",
    ],
    "masked along another axis": [
        "j = tl.arange(0, 16)",
        "x = tl.load(x_ptr + j[:, None] * n + i[None, :], mask=(j < n)[:, None], other=0.0)",
        "tl.store(y_ptr + j, tl.max(x, axis=1), mask=j < n)",
    ],
    "elementwise": ["x = tl.load(x_ptr + i, mask=keep)", "tl.store(y_ptr + i, x - 1.5, mask=keep)"],
}


def severities(lines: list[str]) -> set[Severity]:
    text = KERNEL + "".join(f"    {line}\n" for line in lines)
    return {finding.severity for finding in missing_other(read_kernel(text))}


@pytest.mark.parametrize("name", DISTURBED)
def test_a_fill_that_shows(name: str) -> None:
    assert severities(DISTURBED[name]) == {Severity.WARNING}


@pytest.mark.parametrize("name", QUIET)
def test_a_fill_that_does_not(name: str) -> None:
    assert severities(QUIET[name]) == set()


def test_a_sum_of_undefined_lanes_is_a_hint() -> None:
    lines = ["x = tl.load(x_ptr + i, mask=keep)", "tl.store(y_ptr, tl.sum(x, axis=0))"]
    assert severities(lines) == {Severity.INFO}
