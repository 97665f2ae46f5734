"""Operators that are several steps: softmax, the normalizations and norms, written out with care.

Sums run over centred or shifted values, so that nothing cancels and nothing overflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilesmith.playbook.reductions import (
    Lower,
    argument_of,
    average,
    deviation,
    extreme,
    mean_of,
    picked,
    plain,
    reduced,
    trailing,
    variance,
)
from tilesmith.playbook.steps import Step
from tilesmith.playbook.symbols import Unmatched
from tilesmith.tasks.graph import Node

if TYPE_CHECKING:
    from tilesmith.playbook.lowering import Lowering

_EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def _exponentials(low: Lowering, step: Step, dtype: str, finite: bool = False) -> tuple[Step, Step, Step, Step]:
    """The maximum of each row, the row below it, its exponentials and their sum.

    With `finite`, an infinite maximum counts as zero: the logarithm of the sum then says what it was.
    """
    peak = reduced(low, "max", step, 1, name="row_max", dtype=dtype)
    if finite:
        peak = low.pointwise("finite_or_zero", (peak,), "shift", dtype)
    shifted = low.pointwise("sub", (step, peak), "shifted", dtype)
    powers = low.pointwise("fast_exp", (shifted,), "numerator", dtype)
    total = reduced(low, "sum", powers, 1, name="denominator", dtype=dtype)
    return peak, shifted, powers, total


def _last(low: Lowering, node: Node) -> Step:
    step: Step = low.operand(node.args[0])
    if step.form.rank == 1:
        raise Unmatched("has a single row, which would leave all but one program idle")
    if trailing(step, argument_of(node, 1, "dim")) != 1:
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
    peak, _, _, total = _exponentials(low, step, dtype, finite=True)
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
    weight, bias = (low.operand(argument_of(node, i, name)) for i, name in ((2, "weight"), (3, "bias")))
    epsilon = low.operand(argument_of(node, 4, "eps", 1e-5))
    trailing(step, list(range(-count, 0)))
    mean = mean_of(low, step, count, "mean", step.dtype)
    centred = low.pointwise("sub", (step, mean), "centred", step.dtype)
    return _scaled(low, _normalized(low, centred, count, epsilon), weight, bias)


def _rms_norm(low: Lowering, node: Node) -> Step:
    step, count = low.operand(node.args[0]), len(node.args[1])
    weight, epsilon = low.operand(argument_of(node, 2, "weight")), argument_of(node, 3, "eps")
    trailing(step, list(range(-count, 0)))
    epsilon = _EPSILONS.get(step.dtype, 0.0) if epsilon is None else low.operand(epsilon)
    return _scaled(low, _normalized(low, step, count, epsilon), weight, None)


def _normalized(low: Lowering, step: Step, count: int, epsilon: float) -> Step:
    """The row divided by its root mean square."""
    squared = low.pointwise("square", (step,), "squared", step.dtype)
    mean = mean_of(low, squared, count, "variance", step.dtype)
    padded = low.pointwise("add", (mean, epsilon), "padded", step.dtype)
    factor = low.pointwise("rsqrt", (padded,), "rstd", step.dtype)
    return low.pointwise("mul", (step, factor), "normalized", step.dtype)


def _norm(low: Lowering, node: Node) -> Step:
    """norm and linalg_vector_norm: (x, order, dims, keepdim)."""
    step = low.operand(node.args[0])
    order = low.operand(argument_of(node, 1, "ord", 2))
    count = trailing(step, argument_of(node, 2, "dim"))
    how = {"dtype": node.dtype, "keep": bool(argument_of(node, 3, "keepdim", False))}
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
    "sum": plain("sum"),
    "prod": plain("prod"),
    "amax": plain("amax"),
    "amin": plain("amin"),
    "argmax": picked("argmax"),
    "argmin": picked("argmin"),
    "max": extreme("amax", "argmax"),
    "min": extreme("amin", "argmin"),
    "mean": average,
    "var": variance,
    "std": deviation,
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
