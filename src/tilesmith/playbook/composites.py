"""Operators that are several steps: reductions, softmax and the normalizations, written out with care.

Sums run over centred or shifted values, so that nothing cancels and nothing overflows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tilesmith.playbook.scalars import Named
from tilesmith.playbook.steps import Step
from tilesmith.playbook.symbols import Form, Unmatched
from tilesmith.tasks.graph import Node

if TYPE_CHECKING:
    from tilesmith.playbook.lowering import Lowering

Lower = Callable[["Lowering", Node], "Step | tuple[Step, ...]"]

_EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def _argument(node: Node, position: int, name: str, default: Any = None) -> Any:
    return node.args[position] if len(node.args) > position else node.kwargs.get(name, default)


def _trailing(step: Step, dims: Any) -> int:
    """How many trailing dimensions are reduced; a kernel gives each program whole rows."""
    rank = step.form.rank
    wanted = range(rank) if dims is None or dims == [] else dims if isinstance(dims, Sequence) else [dims]
    axes = sorted(axis % rank for axis in wanted) if rank else []
    if not axes or axes != list(range(rank - len(axes), rank)):
        raise Unmatched(f"reduces dimension {axes[0] if axes else 0} of {rank}, not the last")
    if len(axes) == rank:
        raise Unmatched("reduces everything to one number, which would leave all but one program idle")
    return len(axes)


def reduced(low: Lowering, kind: str, step: Step, count: int, **how: Any) -> Step:
    """A reduction over the last `count` dimensions; `how` may give name, dtype and keep."""
    if step.dtype == "bool" and kind != "sum":
        raise Unmatched(f"takes the {kind} of booleans")
    shape, dims = step.form.shape, step.form.dims
    lead = len(shape) - count
    tail = count if how.get("keep", True) else 0
    form = Form(shape[:lead] + (1,) * tail, dims[:lead] + ((),) * tail)
    options = {"count": count, "length": prod(shape[lead:])}
    return Step(low.free_name(how["name"]), kind, (step,), form, how.get("dtype") or step.dtype, options)


def _length(step: Step, count: int) -> Named:
    return Named(float(prod(step.form.shape[step.form.rank - count :])), "N", None)


def _mean(low: Lowering, step: Step, count: int, name: str, dtype: str, keep: bool = True) -> Step:
    total = reduced(low, "sum", step, count, name=f"{name}_sum", dtype=dtype, keep=keep)
    return low.pointwise("div", (total, _length(step, count)), name, dtype)


def _plain(kind: str) -> Lower:
    """sum, amax and the like: (x, dims, keepdim)."""

    def lower(low: Lowering, node: Node) -> Step:
        step = low.operand(node.args[0])
        count = _trailing(step, _argument(node, 1, "dim"))
        keep = bool(_argument(node, 2, "keepdim", False))
        return reduced(low, kind, step, count, name=node.name, dtype=node.dtype, keep=keep)

    return lower


def _extreme(kind: str, picker: str) -> Lower:
    """max.dim and min.dim: values and where they are."""

    def lower(low: Lowering, node: Node) -> tuple[Step, ...]:
        step = low.operand(node.args[0])
        count = _trailing(step, _argument(node, 1, "dim"))
        keep = bool(_argument(node, 2, "keepdim", False))
        values = reduced(low, kind, step, count, name=f"{kind}_value", dtype=step.dtype, keep=keep)
        places = reduced(low, picker, step, count, name=f"{kind}_place", dtype="int64", keep=keep)
        return values, places

    return lower


def _average(low: Lowering, node: Node) -> Step:
    step = low.operand(node.args[0])
    count = _trailing(step, _argument(node, 1, "dim"))
    keep = bool(_argument(node, 2, "keepdim", False))
    return _mean(low, step, count, node.name, node.dtype or step.dtype, keep)


def _variance(low: Lowering, node: Node) -> Step:
    """The mean square of the centred row."""
    step = low.operand(node.args[0])
    count = _trailing(step, _argument(node, 1, "dim"))
    correction = node.kwargs.get("correction", 1)
    if node.op.endswith(".dim"):
        correction = 1 if _argument(node, 2, "unbiased", True) else 0
    correction = 1 if correction is None else correction
    keep = bool(_argument(node, 3, "keepdim", node.kwargs.get("keepdim", False)))
    mean = _mean(low, step, count, "mean", step.dtype)
    centred = low.pointwise("sub", (step, mean), "centred", step.dtype)
    squared = low.pointwise("square", (centred,), "squared", step.dtype)
    total = reduced(low, "sum", squared, count, name="squares", dtype=step.dtype, keep=keep)
    length = _length(step, count)
    divisor = length if not correction else Named(length - correction, f"(N - {correction})", None)
    return low.pointwise("div", (total, divisor), "variance", step.dtype)


def _deviation(low: Lowering, node: Node) -> Step:
    variance = _variance(low, node)
    return low.pointwise("sqrt", (variance,), node.name, variance.dtype)


def _exponentials(low: Lowering, step: Step, dtype: str) -> tuple[Step, Step, Step, Step]:
    """The maximum of each row, the row below it, its exponentials and their sum."""
    peak = reduced(low, "max", step, 1, name="row_max", dtype=dtype)
    shifted = low.pointwise("sub", (step, peak), "shifted", dtype)
    powers = low.pointwise("fast_exp", (shifted,), "numerator", dtype)
    total = reduced(low, "sum", powers, 1, name="denominator", dtype=dtype)
    return peak, shifted, powers, total


def _last(low: Lowering, node: Node) -> Step:
    step: Step = low.operand(node.args[0])
    if _trailing(step, _argument(node, 1, "dim")) != 1:
        raise Unmatched("takes a softmax over several dimensions")
    return step


def _softmax(low: Lowering, node: Node) -> Step:
    dtype = str(node.dtype)
    _, _, powers, total = _exponentials(low, _last(low, node), dtype)
    return low.pointwise("div", (powers, total), node.name, dtype)


def _log_softmax(low: Lowering, node: Node) -> Step:
    dtype = str(node.dtype)
    _, shifted, _, total = _exponentials(low, _last(low, node), dtype)
    logarithm = low.pointwise("fast_log", (total,), "log_sum", dtype)
    return low.pointwise("sub", (shifted, logarithm), node.name, dtype)


def _logsumexp(low: Lowering, node: Node) -> Step:
    dtype, step = str(node.dtype), _last(low, node)
    peak, _, _, total = _exponentials(low, step, dtype)
    logarithm = low.pointwise("fast_log", (total,), "log_sum", dtype)
    result = low.pointwise("add", (logarithm, peak), node.name, dtype)
    return low.view(result, node)


def _scaled(low: Lowering, step: Step, weight: Any, bias: Any) -> Step:
    for op, operand, name in (("mul", weight, "scaled"), ("add", bias, "moved")):
        if operand is not None:
            step = low.pointwise(op, (step, operand), name, step.dtype)
    return step


def _layer_norm(low: Lowering, node: Node) -> Step:
    step, count = low.operand(node.args[0]), len(node.args[1])
    weight, bias = (low.operand(_argument(node, i, name)) for i, name in ((2, "weight"), (3, "bias")))
    epsilon = low.operand(_argument(node, 4, "eps", 1e-5))
    _trailing(step, list(range(-count, 0)))
    mean = _mean(low, step, count, "mean", step.dtype)
    centred = low.pointwise("sub", (step, mean), "centred", step.dtype)
    return _scaled(low, _normalized(low, centred, count, epsilon), weight, bias)


def _rms_norm(low: Lowering, node: Node) -> Step:
    step, count = low.operand(node.args[0]), len(node.args[1])
    weight, epsilon = low.operand(_argument(node, 2, "weight")), _argument(node, 3, "eps")
    _trailing(step, list(range(-count, 0)))
    epsilon = _EPSILONS.get(step.dtype, 0.0) if epsilon is None else low.operand(epsilon)
    return _scaled(low, _normalized(low, step, count, epsilon), weight, None)


def _normalized(low: Lowering, step: Step, count: int, epsilon: float) -> Step:
    """The row divided by its root mean square."""
    squared = low.pointwise("square", (step,), "squared", step.dtype)
    mean = _mean(low, squared, count, "variance", step.dtype)
    padded = low.pointwise("add", (mean, epsilon), "padded", step.dtype)
    factor = low.pointwise("rsqrt", (padded,), "rstd", step.dtype)
    return low.pointwise("mul", (step, factor), "normalized", step.dtype)


def _norm(low: Lowering, node: Node) -> Step:
    """norm and linalg_vector_norm: (x, order, dims, keepdim)."""
    step = low.operand(node.args[0])
    order = low.operand(_argument(node, 1, "ord", 2))
    count = _trailing(step, _argument(node, 2, "dim"))
    how = {"dtype": node.dtype, "keep": bool(_argument(node, 3, "keepdim", False))}
    if order in (None, 2):
        squared = low.pointwise("square", (step,), "squared", step.dtype)
        total = reduced(low, "sum", squared, count, name="squares", **how)
        return low.pointwise("sqrt", (total,), node.name, total.dtype)
    size = low.pointwise("abs", (step,), "size", step.dtype)
    kinds = {1: "sum", float("inf"): "amax", float("-inf"): "amin"}
    if order not in kinds:
        raise Unmatched(f"takes a norm of order {order}")
    return reduced(low, kinds[order], size, count, name=node.name, **how)


COMPOSITES: dict[str, Lower] = {
    "sum": _plain("sum"),
    "prod": _plain("prod"),
    "amax": _plain("amax"),
    "amin": _plain("amin"),
    "argmax": _plain("argmax"),
    "argmin": _plain("argmin"),
    "max": _extreme("amax", "argmax"),
    "min": _extreme("amin", "argmin"),
    "mean": _average,
    "var": _variance,
    "std": _deviation,
    "softmax": _softmax,
    "_softmax": _softmax,
    "log_softmax": _log_softmax,
    "_log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "norm": _norm,
    "linalg_vector_norm": _norm,
}
