"""Operators that are several steps: softmax, the normalizations and norms, written out with care.

Sums run over centered or shifted values, so that nothing cancels and nothing overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tilesmith.playbook.graph.choices import make_index
from tilesmith.playbook.graph.reductions import (
    Axes,
    Lower,
    find_argument,
    find_axes,
    lower_deviation,
    lower_extreme,
    lower_extreme_index,
    lower_mean,
    lower_plain,
    lower_scan,
    lower_variance,
    make_mean,
    make_reduction,
)
from tilesmith.playbook.graph.steps import CAST, INDEX, VIEW, WIDTHS, KernelStep
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Node
from tilesmith.tasks.numbers.varying import is_varying

if TYPE_CHECKING:
    from tilesmith.playbook.graph.lowering import Lowering

_EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


class _SoftmaxParts(NamedTuple):
    peak: KernelStep
    shifted: KernelStep
    powers: KernelStep
    total: KernelStep


def _exponentials(low: Lowering, step: KernelStep, dim: Any, dtype: str, finite: bool = False) -> _SoftmaxParts:
    """The maximum of each row, the row below it, its exponentials and their sum.

    With `finite`, an infinite maximum counts as zero: the logarithm of the sum then says what it was.
    """
    axes = find_axes(step, dim)
    peak = make_reduction(low, "max", step, axes, name="row_max", dtype=dtype)
    if finite:
        peak = low.pointwise("finite_or_zero", (peak,), "shift", dtype)
    shifted = low.pointwise("sub", (step, peak), "shifted", dtype)
    powers = low.pointwise("fast_exp", (shifted,), "numerator", dtype)
    total = make_reduction(low, "sum", powers, axes, name="denominator", dtype=dtype)
    return _SoftmaxParts(peak, shifted, powers, total)


def softmax_of(low: Lowering, step: KernelStep, dim: Any, name: str, dtype: str) -> KernelStep:
    parts = _exponentials(low, step, dim, dtype)
    return low.pointwise("div", (parts.powers, parts.total), name, dtype)


def _softmax(low: Lowering, node: Node) -> KernelStep:
    return softmax_of(low, *_given(low, node)[:2], node.name, str(node.dtype))


def _given(low: Lowering, node: Node) -> tuple[KernelStep, Any, str]:
    return low.operand(node.args[0]), find_argument(node, 1, "dim"), str(node.dtype)


def _log_softmax(low: Lowering, node: Node) -> KernelStep:
    dtype = str(node.dtype)
    parts = _exponentials(low, *_given(low, node))
    logarithm = low.pointwise("fast_log", (parts.total,), "log_sum", dtype)
    return low.pointwise("sub", (parts.shifted, logarithm), node.name, dtype)


def _logsumexp(low: Lowering, node: Node) -> KernelStep:
    dtype = str(node.dtype)
    parts = _exponentials(low, *_given(low, node), finite=True)
    logarithm = low.pointwise("fast_log", (parts.total,), "log_sum", dtype)
    result = low.pointwise("add", (logarithm, parts.peak), node.name, dtype)
    return low.view(result, node)


def _scaled(low: Lowering, step: KernelStep, weight: Any, bias: Any) -> KernelStep:
    for op, operand, name in (("mul", weight, "scaled"), ("add", bias, "moved")):
        if operand is not None:
            step = low.pointwise(op, (step, operand), name, step.dtype)
    return step


def _layer_norm(low: Lowering, node: Node) -> KernelStep:
    step = low.operand(node.args[0])
    axes = find_axes(step, list(range(-len(node.args[1]), 0)))
    weight, bias = (low.operand(find_argument(node, i, name)) for i, name in ((2, "weight"), (3, "bias")))
    epsilon = low.operand(find_argument(node, 4, "eps", 1e-5))
    mean = make_mean(low, step, axes, "mean", step.dtype)
    centered = low.pointwise("sub", (step, mean), "centered", step.dtype)
    return _scaled(low, _normalized(low, centered, axes, epsilon), weight, bias)


def _rms_norm(low: Lowering, node: Node) -> KernelStep:
    step = low.operand(node.args[0])
    axes = find_axes(step, list(range(-len(node.args[1]), 0)))
    weight, epsilon = low.operand(find_argument(node, 2, "weight")), find_argument(node, 3, "eps")
    epsilon = _EPSILONS.get(step.dtype, 0.0) if epsilon is None else low.operand(epsilon)
    return _scaled(low, _normalized(low, step, axes, epsilon), weight, None)


def _normalized(low: Lowering, step: KernelStep, axes: Axes, epsilon: float) -> KernelStep:
    """The row divided by its root mean square."""
    squared = low.pointwise("square", (step,), "squared", step.dtype)
    mean = make_mean(low, squared, axes, "variance", step.dtype)
    padded = low.pointwise("add", (mean, epsilon), "padded", step.dtype)
    factor = low.pointwise("rsqrt", (padded,), "rstd", step.dtype)
    return low.pointwise("mul", (step, factor), "normalized", step.dtype)


def _batch_norm(low: Lowering, node: Node) -> KernelStep:
    """(x, weight, bias, running mean, running variance, training, momentum, eps): fixed statistics alone."""
    if in_training_mode(node):
        raise Unmatched("normalizes by the statistics of the batch, over dimensions that no recipe reduces")
    step = low.operand(node.args[0])
    weight, bias, mean, variance = (by_channel(low, one, step) for one in node.args[1:5])
    centered = low.pointwise("sub", (step, mean), "centered", step.dtype)
    padded = low.pointwise("add", (variance, low.operand(node.args[7])), "padded", step.dtype)
    factor = low.pointwise("rsqrt", (padded,), "rstd", step.dtype)
    return _scaled(low, low.pointwise("mul", (centered, factor), "normalized", step.dtype), weight, bias)


def in_training_mode(node: Node) -> bool:
    """Whether a batch norm takes the statistics of its batch; it has no others where none are kept."""
    return bool(node.args[5]) or node.args[3] is None


def by_channel(low: Lowering, value: Any, step: KernelStep) -> KernelStep | None:
    """One number for each channel, which is dimension 1, shaped to be broadcast."""
    one: KernelStep | None = low.operand(value)
    if one is None or step.form.rank == 2:
        return one
    shape = (step.form.shape[1], *(1 for _ in range(step.form.rank - 2)))
    return KernelStep(low.free_name(one.name), VIEW, (one,), low.symbols.view(one.form, shape), one.dtype)


def _norm(low: Lowering, node: Node) -> KernelStep:
    """norm and linalg_vector_norm: (x, order, dims, keepdim)."""
    step = low.operand(node.args[0])
    order = low.operand(find_argument(node, 1, "ord", 2))
    axes = find_axes(step, find_argument(node, 2, "dim"))
    how = {"dtype": node.dtype, "keep": bool(find_argument(node, 3, "keepdim", False))}
    if order in (None, 2):
        squared = low.pointwise("square", (step,), "squared", step.dtype)
        total = make_reduction(low, "sum", squared, axes, name="squares", **how)
        return low.pointwise("sqrt", (total,), node.name, total.dtype)
    size = low.pointwise("abs", (step,), "size", step.dtype)
    kinds = {1: "sum", float("inf"): "amax", float("-inf"): "amin"}
    if order not in kinds:
        raise Unmatched(f"takes a norm of order {order}")
    return make_reduction(low, kinds[order], size, axes, name=node.name, **how)


def _running_extreme(kind: str) -> Lower:
    """cummax and cummin, (x, dim): values, and the last place so far where the extreme stood; NaN is one."""

    def lower(low: Lowering, node: Node) -> tuple[KernelStep, ...]:
        step = low.operand(node.args[0])
        axes = find_axes(step, find_argument(node, 1, "dim"))
        how = {"axes": axes, "length": step.form.shape[axes[0]], "reverse": False}
        values = KernelStep(low.free_name(node.name), kind, (step,), step.form, step.dtype, how)
        is_it = low.pointwise("eq", (step, values), "is_extreme", "bool")
        is_nan = low.pointwise("ne", (step, step), "is_nan", "bool")
        is_it = low.pointwise("logical_or", (is_it, is_nan), "is_extreme", "bool")
        place = low.pointwise(CAST, (make_index(low, step.form, axes[0], "place"),), "place", "int64")
        seen = low.pointwise("where", (is_it, place, 0), "place_or_start", "int64")
        return values, KernelStep(low.free_name(f"{node.name}_place"), "cummax", (seen,), seen.form, "int64", how)

    return lower


class CountedPlace(NamedTuple):
    """A place along a dimension, divided by a number."""

    size: int
    by: int


def find_place(low: Lowering, step: Any) -> CountedPlace | None:
    """The place that a step is: `arange(size) // by`."""
    if not isinstance(step, KernelStep) or step in low.quotients:
        return low.quotients.get(step)
    if step.op == CAST:
        return find_place(low, step.operands[0]) if step.dtype in ("int32", "int64") else None
    how = step.options
    is_plain = step.op == INDEX and how.keys() <= {"dim", "scale", "offset"} and how.get("scale", 1) == 1
    return CountedPlace(step.form.shape[how["dim"]], 1) if is_plain and not how.get("offset") else None


def _is_natural(low: Lowering, step: KernelStep) -> bool:
    """Whether it is surely not below zero."""
    return step.dtype in ("uint8", "bool") or find_place(low, step) is not None


def _number(low: Lowering, value: Any) -> Any:
    return low.number(value) if is_varying(value) else low.operand(value)


def divide(low: Lowering, operands: Sequence[Any], mode: str, node: Node) -> KernelStep:
    """A quotient rounded down or towards zero; Triton rounds that of integers towards zero."""
    a, b, dtype = low.operand(operands[0]), operands[1], str(node.dtype)
    if not isinstance(a, KernelStep):
        raise Unmatched(f"divides a number ({node.op})")
    is_whole, place = dtype.startswith(("int", "uint")), find_place(low, a)
    is_exact = is_whole and isinstance(b, int) and b > 0 and _is_natural(low, a)
    if mode == "trunc" or is_exact:
        found = low.pointwise("trunc_divide", (a, _number(low, b)), node.name, dtype)
        if place is not None and is_exact:
            low.quotients[found] = CountedPlace(place.size, place.by * b)
        return found
    b = _number(low, b)
    if not is_whole and b == 0:
        return low.pointwise("div", (a, b), node.name, dtype)
    rest = low.pointwise("fmod", (a, b), f"{node.name}_rest", dtype)
    turns = _turns(low, rest, b)
    if is_whole:  # `a - rest` may be beyond the least integer
        near = low.pointwise("trunc_divide", (a, b), f"{node.name}_near", dtype)
    else:
        whole = low.pointwise("sub", (a, rest), f"{node.name}_whole", dtype)
        quotient = low.pointwise("div", (whole, b), f"{node.name}_near", dtype)
        near = low.pointwise("round", (quotient,), f"{node.name}_round", dtype)
    less = low.pointwise("sub", (near, 1), f"{node.name}_less", dtype)
    if is_whole or not isinstance(b, KernelStep):
        return low.pointwise("where", (turns, less, near), node.name, dtype)
    found = low.pointwise("where", (turns, less, near), f"{node.name}_found", dtype)
    is_zero = low.pointwise("eq", (b, 0), "is_zero", "bool")
    return low.pointwise("where", (is_zero, low.pointwise("div", (a, b), "far", dtype), found), node.name, dtype)


def remainder(low: Lowering, a: Any, b: Any, name: str, dtype: str) -> KernelStep:
    """What is left by a quotient rounded down: it has the sign of the divisor."""
    is_exact = isinstance(a, KernelStep) and isinstance(b, int) and b > 0 and _is_natural(low, a)
    b = _number(low, b)
    rest = low.pointwise("fmod", (a, b), name if is_exact else f"{name}_of_zero", dtype)
    if is_exact:
        return rest
    moved = low.pointwise("add", (rest, b), f"{name}_moved", dtype)
    return low.pointwise("where", (_turns(low, rest, b), moved, rest), name, dtype)


def _turns(low: Lowering, rest: KernelStep, b: Any) -> KernelStep:
    """Whether what is left by a quotient rounded towards zero has another sign than the divisor."""
    if not isinstance(b, KernelStep):
        return (
            low.pointwise("gt", (rest, 0), "is_above", "bool")
            if b < 0
            else low.pointwise("lt", (rest, 0), "is_below", "bool")
        )
    below = low.pointwise("lt", (rest, 0), "is_below", "bool")
    other = low.pointwise("lt", (b, 0), "is_other", "bool")
    differs = low.pointwise("logical_xor", (below, other), "differs", "bool")
    left = low.pointwise("ne", (rest, 0), "is_left", "bool")
    return low.pointwise("logical_and", (differs, left), "turns", "bool")


def shift(low: Lowering, op: str, operands: Sequence[Any], node: Node) -> KernelStep:
    """Bits moved by a number that may be too large: then none is left, or the sign."""
    (value, by), dtype = operands, str(node.dtype)
    if not isinstance(value, KernelStep) or not isinstance(by, KernelStep):
        raise Unmatched("shifts bits by a number that is too large")
    bits = 8 * WIDTHS.get(dtype, 1)
    inside = low.pointwise("lt", (by, bits), "has_bits", "bool")
    if not _is_natural(low, by):
        natural = low.pointwise("ge", (by, 0), "is_natural", "bool")
        inside = low.pointwise("logical_and", (inside, natural), "has_bits", "bool")
    usual = low.pointwise("where", (inside, by, 0), "bits", by.dtype)
    moved = low.pointwise(op, (value, usual), f"{node.name}_usual", dtype)
    is_sign = "right" in op and not dtype.startswith("uint")
    beyond = low.pointwise(op, (value, bits - 1), f"{node.name}_sign", dtype) if is_sign else 0
    return low.pointwise("where", (inside, moved, beyond), node.name, dtype)


def _remainder(low: Lowering, node: Node) -> KernelStep:
    return remainder(low, low.operand(node.args[0]), node.args[1], node.name, str(node.dtype))


def _floor_divide(low: Lowering, node: Node) -> KernelStep:
    return divide(low, node.args, "floor", node)


COMPOSITES: dict[str, Lower] = {
    "remainder": _remainder,
    "floor_divide": _floor_divide,
    "sum": lower_plain("sum"),
    "prod": lower_plain("prod"),
    "amax": lower_plain("amax"),
    "amin": lower_plain("amin"),
    "argmax": lower_extreme_index("argmax"),
    "argmin": lower_extreme_index("argmin"),
    "max": lower_extreme("amax", "argmax"),
    "min": lower_extreme("amin", "argmin"),
    "cumsum": lower_scan("cumsum"),
    "cumprod": lower_scan("cumprod"),
    "logcumsumexp": lower_scan("logcumsumexp"),
    "cummax": _running_extreme("cummax"),
    "cummin": _running_extreme("cummin"),
    "mean": lower_mean,
    "var": lower_variance,
    "std": lower_deviation,
    "softmax": _softmax,
    "_softmax": _softmax,
    "log_softmax": _log_softmax,
    "_log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "batch_norm": _batch_norm,
    "norm": _norm,
    "linalg_vector_norm": _norm,
}
