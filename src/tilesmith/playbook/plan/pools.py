"""Pools, written out: a maximum or a sum of slices, one for every place of the window, which are read in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import inf, prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilesmith.playbook.plan.decompositions import Value, Writer

_LARGEST_WINDOW = 27
"""Places of a window that are read one after the other."""


def _adaptive_average(dims: int) -> Callable[[Writer], bool]:
    """Where its results are single numbers it is a mean of all of those dimensions."""

    def write(writer: Writer) -> bool:
        x, sizes = writer.operand(0), writer.operand(1)
        if any(size != 1 for size in sizes):
            return False
        lead = len(x.shape) - dims
        over = list(range(lead, len(x.shape)))
        writer.add("mean.dim", (x, over, True), x.shape[:lead] + (1,) * dims, x.dtype)
        return True

    return write


def _maximum(dims: int) -> Callable[[Writer], bool]:
    """(x, window, stride, padding, dilation, ceil_mode)"""

    def write(writer: Writer) -> bool:
        x = writer.operand(0)
        window, stride, padding = _geometry(writer, dims)
        dilation = _each(writer.operand(4, "dilation", 1), dims)
        is_plain = x.dtype.startswith(("float", "bfloat")) and not writer.operand(5, "ceil_mode", False)
        if prod(window) > _LARGEST_WINDOW or not is_plain:
            return False
        parts = _slices(writer, x, window, stride, padding, dilation, -inf)
        for part in parts[1:]:
            parts[0] = parts[0].apply("maximum.default", part)
        return len(parts) > 1

    return write


def _average(dims: int) -> Callable[[Writer], bool]:
    """(x, window, stride, padding, ceil_mode, count_include_pad, divisor)"""

    def write(writer: Writer) -> bool:
        x = writer.operand(0)
        window, stride, padding = _geometry(writer, dims)
        counts_all = writer.operand(5, "count_include_pad", True) or not any(padding)
        if prod(window) > _LARGEST_WINDOW or writer.operand(4, "ceil_mode", False) or not counts_all:
            return False
        parts = _slices(writer, x, window, stride, padding, [1] * dims, 0.0)
        for part in parts[1:]:
            parts[0] = parts[0] + part
        parts[0] / (writer.operand(6, "divisor_override") or prod(window))
        return True

    return write


def _geometry(writer: Writer, dims: int) -> tuple[list[int], list[int], list[int]]:
    window = _each(writer.operand(1), dims)
    stride = writer.operand(2, "stride")
    return window, _each(stride, dims) if stride else window, _each(writer.operand(3, "padding", 0), dims)


def _each(value: Any, dims: int) -> list[int]:
    given = list(value) if isinstance(value, Sequence) else [value]
    return given * dims if len(given) == 1 else given


def _slices(
    writer: Writer,
    x: Value,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    border: float,
) -> list[Value]:
    """For each place of the window, what all windows have there."""
    lead = len(x.shape) - len(window)
    results = writer.node.shape or ()
    if any(padding):
        wider = x.shape[:lead] + tuple(size + 2 * p for size, p in zip(x.shape[lead:], padding, strict=True))
        around = [p for one in reversed(padding) for p in (one, one)]
        x = writer.add("constant_pad_nd.default", (x, around, border), wider, x.dtype)
    parts = []
    for place in product(*map(range, window)):
        part = x
        for axis, (at, wide, step, apart) in enumerate(zip(place, window, stride, dilation, strict=True), lead):
            shape = (*part.shape[:axis], results[axis], *part.shape[axis + 1 :])
            end = (at + 1 - wide) * apart or None  # counted from the end: right for other sizes, too
            part = writer.add("slice.Tensor", (part, axis, at * apart, end, step), shape, part.dtype)
        parts.append(part)
    return parts


POOLS: dict[str, Callable[[Writer], bool]] = {
    f"{kind}_pool{dims}d": write(dims)
    for kind, write in (("adaptive_avg", _adaptive_average), ("max", _maximum), ("avg", _average))
    for dims in (1, 2, 3)
}
