"""Reductions over some dimensions: sums, extremes and where they are, means and spreads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import CAST, MOVE, KernelStep
from tilesmith.playbook.graph.symbols import SymbolicShape
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Node

if TYPE_CHECKING:
    from tilesmith.playbook.graph.lowering import Lowering

Lower = Callable[["Lowering", Node], "KernelStep | tuple[KernelStep, ...]"]


def find_argument(node: Node, position: int, name: str, default: Any = None) -> Any:
    return node.args[position] if len(node.args) > position else node.kwargs.get(name, default)


Axes = tuple[int, ...]
"""The dimensions that are reduced, in order."""


def find_axes(step: KernelStep, dims: Any) -> Axes:
    """The dimensions that a reduction is over: `dims`, or all."""
    rank = step.form.rank
    wanted = range(rank) if dims is None or dims == [] else dims if isinstance(dims, Sequence) else [dims]
    if rank == 0:
        raise Unmatched("reduces a single number")
    return tuple(sorted(axis % rank for axis in wanted))


def make_reduction(low: Lowering, kind: str, step: KernelStep, axes: Axes, **how: Any) -> KernelStep:
    """A reduction over some dimensions; `how` may give name, dtype and keep."""
    if step.dtype == "bool" and kind != "sum":
        raise Unmatched(f"takes the {kind} of booleans")
    pairs = [
        ((1, ()) if i in axes else pair, i)
        for i, pair in enumerate(zip(step.form.shape, step.form.dims, strict=True))
    ]
    left = [pair for pair, i in pairs if how.get("keep", True) or i not in axes]
    form = SymbolicShape(tuple(size for size, _ in left), tuple(dim for _, dim in left))
    options = {"axes": axes, "length": prod(step.form.shape[i] for i in axes)}
    return KernelStep(low.free_name(how["name"]), kind, (step,), form, how.get("dtype") or step.dtype, options)


def _length(step: KernelStep, axes: Axes) -> NamedNumber:
    return NamedNumber(float(prod(step.form.shape[i] for i in axes)), "N", None)


def make_mean(low: Lowering, step: KernelStep, axes: Axes, name: str, dtype: str, keep: bool = True) -> KernelStep:
    total = make_reduction(low, "sum", step, axes, name=f"{name}_sum", dtype=dtype, keep=keep)
    return low.pointwise("div", (total, _length(step, axes)), name, dtype)


def lower_plain(kind: str) -> Lower:
    """sum, amax and the like: (x, dims, keepdim)."""

    def lower(low: Lowering, node: Node) -> KernelStep:
        step = low.operand(node.args[0])
        axes = find_axes(step, find_argument(node, 1, "dim"))
        keep = bool(find_argument(node, 2, "keepdim", False))
        return make_reduction(low, kind, step, axes, name=node.name, dtype=node.dtype, keep=keep)

    return lower


def _place(low: Lowering, picker: str, step: KernelStep, axes: Axes, keep: bool) -> KernelStep:
    """Where the extreme of each row is; the first NaN counts as one, which Triton by itself passes over."""
    places = make_reduction(low, picker, step, axes, name=f"{picker}_place", dtype="int64", keep=keep)
    if not step.dtype.startswith(("float", "bfloat")):
        return places
    nan = low.pointwise("ne", (step, step), "is_nan", "bool")
    flags = low.pointwise(CAST, (nan,), "nan_flag", "int32")
    first = make_reduction(low, "argmax", flags, axes, name="first_nan", dtype="int64", keep=keep)
    seen = make_reduction(low, "max", flags, axes, name="any_nan", dtype="int32", keep=keep)
    has_nan = low.pointwise("gt", (seen, 0), "has_nan", "bool")
    return low.pointwise("where", (has_nan, first, places), f"{picker}_or_nan", "int64")


def lower_extreme_index(picker: str) -> Lower:
    """argmax and argmin: (x, dim, keepdim)."""

    def lower(low: Lowering, node: Node) -> KernelStep:
        step = low.operand(node.args[0])
        axes = find_axes(step, find_argument(node, 1, "dim"))
        return _place(low, picker, step, axes, bool(find_argument(node, 2, "keepdim", False)))

    return lower


def lower_extreme(kind: str, picker: str) -> Lower:
    """max.dim and min.dim: values and where they are."""

    def lower(low: Lowering, node: Node) -> KernelStep | tuple[KernelStep, ...]:
        step = low.operand(node.args[0])
        axes = find_axes(step, find_argument(node, 1, "dim"))
        keep = bool(find_argument(node, 2, "keepdim", False))
        if node.op.endswith(".default"):  # over everything, without the place
            return make_reduction(low, kind, step, axes, name=node.name, dtype=step.dtype, keep=False)
        values = make_reduction(low, kind, step, axes, name=f"{kind}_value", dtype=step.dtype, keep=keep)
        return values, _place(low, picker, step, axes, keep)

    return lower


def lower_mean(low: Lowering, node: Node) -> KernelStep:
    step = low.operand(node.args[0])
    axes = find_axes(step, find_argument(node, 1, "dim"))
    keep = bool(find_argument(node, 2, "keepdim", False))
    return make_mean(low, step, axes, node.name, node.dtype or step.dtype, keep)


def lower_variance(low: Lowering, node: Node) -> KernelStep:
    """The mean square of the centered row."""
    step = low.operand(node.args[0])
    everything = node.op.endswith(".default")  # takes `unbiased` where the others take dimensions
    axes = find_axes(step, None if everything else find_argument(node, 1, "dim"))
    correction = node.kwargs.get("correction", 1)
    if everything or node.op.endswith(".dim"):
        correction = 1 if find_argument(node, 1 if everything else 2, "unbiased", True) else 0
    correction = 1 if correction is None else correction
    keep = bool(find_argument(node, 3, "keepdim", node.kwargs.get("keepdim", False)))
    mean = make_mean(low, step, axes, "mean", step.dtype)
    centered = low.pointwise("sub", (step, mean), "centered", step.dtype)
    squared = low.pointwise("square", (centered,), "squared", step.dtype)
    total = make_reduction(low, "sum", squared, axes, name="squares", dtype=step.dtype, keep=keep)
    length = _length(step, axes)
    less = (
        f"(N - {correction})" if correction in (0, 1) else f"tl.maximum(N - {correction}, 0)"
    )  # a row may be shorter
    divisor = length if not correction else NamedNumber(max(length - correction, 0), less, None)
    return low.pointwise("div", (total, divisor), "variance", step.dtype)


def lower_deviation(low: Lowering, node: Node) -> KernelStep:
    squared = lower_variance(low, node)
    return low.pointwise("sqrt", (squared,), node.name, squared.dtype)


def lower_scan(kind: str) -> Lower:
    """cumsum and cumprod: (x, dim). One of a flipped row is a flipped one from the end."""

    def lower(low: Lowering, node: Node) -> KernelStep:
        step = low.operand(node.args[0])
        axes = find_axes(step, node.args[1])
        flipped = step if _is_flip(step, axes[0]) else None
        source = step.operands[0] if flipped else step
        options = {"axes": axes, "length": step.form.shape[axes[0]], "reverse": flipped is not None}
        scan = KernelStep(low.free_name(node.name), kind, (source,), source.form, str(node.dtype), options)
        if flipped is None:
            return scan
        moved = {"maps": flipped.options["maps"], "guard": None}
        return KernelStep(low.free_name(f"{node.name}_flipped"), MOVE, (scan,), step.form, str(node.dtype), moved)

    return lower


def _is_flip(step: KernelStep, axis: int) -> bool:
    """Whether it is another value with one dimension from its end."""
    if step.op != MOVE or step.options["guard"] is not None or step.operands[0].form is not step.form:
        return False
    maps = step.options["maps"]
    others = [one for i, one in enumerate(maps) if i != axis]
    return maps[axis].scale == -1 and all(one.scale == 1 and not one.offset and not one.form for one in others)
