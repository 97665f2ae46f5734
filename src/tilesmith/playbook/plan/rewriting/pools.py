"""Pools, written out: a maximum or a sum of slices, one for every place of the window, which are read in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import inf, prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilesmith.playbook.plan.rewriting.writer import Value, Writer

_LARGEST_WINDOW = 27
"""Places of a window that are read one after the other."""
_LONG_WINDOW = 16
"""From which on windows that lie side by side in a row are a reduction: algebra may find a product before it."""


def _adaptive_average(dims: int) -> Callable[[Writer], bool]:
    """Where its results are single numbers it is a mean of all of those dimensions, else of windows side by side
    where these are of one size."""

    def write(writer: Writer) -> bool:
        x, sizes = writer.operand(0), writer.operand(1)
        lead = len(x.shape) - dims
        if all(size == 1 for size in sizes):
            over = list(range(lead, len(x.shape)))
            writer.add("mean.dim", (x, over, True), x.shape[:lead] + (1,) * dims, x.dtype)
            return True
        if any(size is None or had % size for had, size in zip(x.shape[lead:], sizes, strict=True)):
            return False
        _side_by_side(writer, x, "mean.dim", [(size, -1) for size in sizes])
        return True

    return write


def _maximum(dims: int) -> Callable[[Writer], bool]:
    """(x, window, stride, padding, dilation, ceil_mode)"""

    def write(writer: Writer) -> bool:
        x = writer.operand(0)
        window, stride, padding = _geometry(writer, dims)
        dilation = _each(writer.operand(4, "dilation", 1), dims)
        if not x.dtype.startswith(("float", "bfloat")):
            return False
        if prod(window) > _LARGEST_WINDOW:
            if window != stride or any(padding) or max(dilation) > 1 or writer.operand(5, "ceil_mode", False):
                return False
            _side_by_side(writer, x, "amax.default", [(-1, size) for size in window])
            return True
        beyond = _beyond(window, stride, padding, dilation) if writer.operand(5, "ceil_mode", False) else [0] * dims
        if beyond is None:
            return False
        parts = _slices(writer, x, window, stride, padding, dilation, -inf, beyond)
        for part in parts[1:]:
            parts[0] = parts[0].apply("maximum.default", part)
        return len(parts) > 1

    return write


def _average(dims: int) -> Callable[[Writer], bool]:
    """(x, window, stride, padding, ceil_mode, count_include_pad, divisor)"""

    def write(writer: Writer) -> bool:
        x = writer.operand(0)
        window, stride, padding = _geometry(writer, dims)
        divisor, plain = writer.operand(6, "divisor_override"), [1] * dims
        to_the_end = writer.operand(4, "ceil_mode", False)
        is_grouped = window == stride and not any(padding) and divisor is None and not to_the_end
        if is_grouped and (prod(window) > _LARGEST_WINDOW or (dims == 1 and window[0] >= _LONG_WINDOW)):
            _side_by_side(writer, x, "mean.dim", [(-1, size) for size in window])
            return True
        beyond = _beyond(window, stride, padding, plain) if to_the_end else [0] * dims
        counts_all = writer.operand(5, "count_include_pad", True) or not any(padding)
        if prod(window) > _LARGEST_WINDOW or beyond is None or (any(beyond) and any(padding) and counts_all):
            return False
        total = _sum(_slices(writer, x, window, stride, padding, plain, 0.0, beyond))
        if divisor or (counts_all and not any(beyond)):
            total / (divisor or prod(window))
        else:
            ones = writer.add("ones_like.default", (x,), x.shape, x.dtype)
            total / _sum(_slices(writer, ones, window, stride, padding, plain, 0.0, beyond))
        return True

    return write


def _sum(parts: list[Value]) -> Value:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _side_by_side(writer: Writer, x: Value, op: str, groups: Sequence[tuple[int, int]]) -> None:
    """Every dimension in two, of which the second is reduced; -1 for the size that the other one leaves."""
    lead = len(x.shape) - len(groups)
    for i, (count, wide) in enumerate(groups):
        axis = lead + 2 * i
        size, before, after = x.shape[axis], x.shape[:axis], x.shape[axis + 1 :]
        sizes = (size // wide, wide) if count == -1 else (count, size // count)
        if prod(sizes) < size:  # PyTorch leaves the rest out
            x = writer.add("slice.Tensor", (x, axis, 0, prod(sizes)), (*before, prod(sizes), *after), x.dtype)
        asked = [*before, count, wide, *after]
        x = writer.add("view.default", (x, asked), (*before, *sizes, *after), x.dtype)
    over = [lead + 2 * i + 1 for i in range(len(groups))]
    shape = tuple(size for axis, size in enumerate(x.shape) if axis not in over)
    writer.add(op, (x, over), shape, x.dtype)


def _beyond(
    window: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> list[int] | None:
    """How far the last windows may reach beyond the border; None where PyTorch would leave some of them out."""
    wide = zip(window, stride, padding, dilation, strict=True)
    if any((size - 1) * apart <= p + step - 2 for size, step, p, apart in wide):
        return None
    return [step - 1 for step in stride]


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
    beyond: Sequence[int],
) -> list[Value]:
    """For each place of the window, what all windows have there."""
    lead = len(x.shape) - len(window)
    results = writer.node.shape or ()
    if any(padding) or any(beyond):
        sides = [(p, p + more) for p, more in zip(padding, beyond, strict=True)]
        wider = x.shape[:lead] + tuple(size + sum(one) for size, one in zip(x.shape[lead:], sides, strict=True))
        around = [p for one in reversed(sides) for p in one]
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
