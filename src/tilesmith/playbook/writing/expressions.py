"""One placed value as one Triton expression, with its operands brought to the type it is computed in."""

from __future__ import annotations

from typing import Any

from tilesmith.playbook.graph.operators import COMPARISONS, LOGICAL
from tilesmith.playbook.graph.placement import PlacedValue
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import CAST, CONSTANT, KernelStep, widest
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.operands import to_source
from tilesmith.playbook.writing.pointwise import INTEGER_SOURCE, POINTWISE_SOURCE

_MASKS = {"where": 0, "masked_fill": 1}
"""Which operand is a condition, and keeps its type."""
_OF_DOUBLES = ("pow", "atan2", "fmod", "clamp", "clamp_min", "clamp_max", "hardtanh", "maximum", "minimum")
"""Calls of a library that has a function per type, and of Triton's, whose release 3.6 makes a number a float32."""
_SMALLEST = {"tl.int8": -(2**7), "tl.int16": -(2**15), "tl.int32": -(2**31), "tl.int64": -(2**63), "tl.uint8": 0}
_LARGEST = {
    "tl.int8": 2**7 - 1,
    "tl.int16": 2**15 - 1,
    "tl.int32": 2**31 - 1,
    "tl.int64": 2**63 - 1,
    "tl.uint8": 255,
}


def write_expression(value: PlacedValue) -> str:
    """The right-hand side that computes a pointwise value."""
    step = value.step
    if step.op == CAST:
        return _cast(value.operands[0], step)
    if step.op == CONSTANT:
        return f"tl.full([], {to_source(step.options['value'])}, {step.computed_in})"
    wanted = step.computed_in
    if step.op in COMPARISONS:
        wanted = widest([one.step.computed_in for one in value.operands if isinstance(one, PlacedValue)])
    kept = _MASKS.get(step.op) if step.op not in LOGICAL else None
    types = [None if position == kept else wanted for position in range(len(value.operands))]
    operands = [_operand(one, kind, step.op) for one, kind in zip(value.operands, types, strict=True)]
    known = POINTWISE_SOURCE | INTEGER_SOURCE if wanted in _SMALLEST else POINTWISE_SOURCE
    options = step.options
    if wanted == "tl.float64" and step.op in _OF_DOUBLES:
        options = {name: _literal(option, wanted, step.op) for name, option in options.items()}
    try:
        found = known[step.op](*operands, **options)
    except TypeError:  # an overload with arguments of its own
        raise Unmatched(f"calls {step.op} in a way that no recipe knows") from None
    chosen = [one for position, one in enumerate(value.operands) if position != kept]
    if kept is not None and not any(isinstance(one, PlacedValue) for one in chosen):
        return f"{found}.to({wanted})"  # a choice between two numbers
    return found.replace("tl.sqrt_rn(", "tl.sqrt(") if wanted == "tl.float64" else found


def write_converted(value: PlacedValue, wanted: str) -> str:
    return value.name if value.step.computed_in == wanted else f"{value.name}.to({wanted})"


def _operand(operand: Any, wanted: str | None, op: str) -> Any:
    if not isinstance(operand, PlacedValue):
        return operand if wanted is None else _literal(operand, wanted, op)
    return operand.name if wanted is None else write_converted(operand, wanted)


def _literal(number: Any, wanted: str, op: str) -> Any:
    """A number as Triton takes it: in range of the type, and a double where a function wants one."""
    if wanted == "tl.float64" and op in _OF_DOUBLES and isinstance(number, int | float):
        exact = number if isinstance(number, NamedNumber) else float(number)
        return NamedNumber(float(number), f"tl.full([], {to_source(exact)}, tl.float64)", None)
    if wanted not in _SMALLEST or type(number) is not int:
        return number
    least, most = _SMALLEST[wanted], _LARGEST[wanted]
    if least <= number <= most:
        return number
    if op not in ("add", "sub", "rsub", "mul"):
        raise Unmatched(f"uses {number} with {wanted.removeprefix('tl.')}, which does not hold it")
    return (number - least) % (most - least + 1) + least


def _cast(operand: PlacedValue, step: KernelStep) -> str:
    wanted = step.computed_in
    if wanted == "tl.int1" and operand.step.computed_in != "tl.int1":
        return f"{operand.name} != 0"
    if step.dtype in ("float16", "bfloat16") and operand.step.dtype != step.dtype:
        return f"{operand.name}.to(tl.{step.dtype}).to({wanted})"  # rounds as PyTorch does
    return write_converted(operand, wanted)


def neutral_element(kind: str, computed_in: str) -> float:
    """What a lane beyond the row must hold so that a reduction does not see it."""
    if kind in ("sum", "prod"):
        zero, one = (0, 1) if computed_in.startswith(("tl.int", "tl.uint")) else (0.0, 1.0)
        return zero if kind == "sum" else one
    least = kind in ("max", "amax", "argmax", "log_add")
    table = _SMALLEST if least else _LARGEST
    return table.get(computed_in, float("-inf") if least else float("inf"))


def find_padding(value: PlacedValue, loaded: dict[str, float]) -> float | None:
    """What the lanes beyond the row hold, where that is certain; `loaded` says what leaves are padded with."""
    if value.name in loaded:
        return loaded[value.name]
    if not value.is_wide or not value.operands or not isinstance(value.operands[0], PlacedValue):
        return None
    first, op = find_padding(value.operands[0], loaded), value.step.op
    if op == "sub" and first == float("-inf") and not getattr(value.operands[1], "is_wide", False):
        return first
    if op in ("fast_exp", "exp") and first == float("-inf"):
        return 0.0
    return 0.0 if first == 0 and op in ("square", "abs", "relu") else None


def write_masked(value: PlacedValue, kind: str, loaded: dict[str, float], mask: str) -> str:
    """The operand of a reduction, harmless beyond the row."""
    wanted = value.step.computed_in
    lane = neutral_element(kind, wanted)
    return (
        value.name if find_padding(value, loaded) == lane else f"tl.where({mask}, {value.name}, {to_source(lane)})"
    )
