"""One placed value as one Triton expression, with its operands brought to the type it is computed in."""

from __future__ import annotations

from typing import Any

from tilesmith.playbook.placing import Value
from tilesmith.playbook.pointwise import COMPARISONS, LOGICAL, POINTWISE
from tilesmith.playbook.scalars import text
from tilesmith.playbook.steps import CAST, widest
from tilesmith.playbook.symbols import Unmatched

_MASKS = {"where": 0, "masked_fill": 1}
"""Which operand is a condition, and keeps its type."""
_SMALLEST = {"tl.int8": -(2**7), "tl.int16": -(2**15), "tl.int32": -(2**31), "tl.int64": -(2**63), "tl.uint8": 0}
_LARGEST = {
    "tl.int8": 2**7 - 1,
    "tl.int16": 2**15 - 1,
    "tl.int32": 2**31 - 1,
    "tl.int64": 2**63 - 1,
    "tl.uint8": 255,
}


def expression(value: Value) -> str:
    """The right-hand side that computes a pointwise value."""
    step = value.step
    if step.op == CAST:
        return _cast(value.operands[0], step.computed_in)
    wanted = step.computed_in
    if step.op in COMPARISONS:
        wanted = widest([one.step.computed_in for one in value.operands if isinstance(one, Value)])
    kept = _MASKS.get(step.op) if step.op not in LOGICAL else None
    operands = [_operand(one, None if position == kept else wanted) for position, one in enumerate(value.operands)]
    try:
        found = POINTWISE[step.op](*operands, **step.options)
    except TypeError:  # an overload with arguments of its own
        raise Unmatched(f"calls {step.op} in a way that no recipe knows") from None
    return found.replace("tl.sqrt_rn(", "tl.sqrt(") if wanted == "tl.float64" else found


def converted(value: Value, wanted: str) -> str:
    return value.name if value.step.computed_in == wanted else f"{value.name}.to({wanted})"


def _operand(operand: Any, wanted: str | None) -> Any:
    if not isinstance(operand, Value):
        return operand
    return operand.name if wanted is None else converted(operand, wanted)


def _cast(operand: Value, wanted: str) -> str:
    if wanted == "tl.int1" and operand.step.computed_in != "tl.int1":
        return f"{operand.name} != 0"
    return converted(operand, wanted)


def neutral(kind: str, computed_in: str) -> float:
    """What a lane beyond the row must hold so that a reduction does not see it."""
    if kind in ("sum", "prod"):
        zero, one = (0, 1) if computed_in.startswith(("tl.int", "tl.uint")) else (0.0, 1.0)
        return zero if kind == "sum" else one
    least = kind in ("max", "amax", "argmax")
    table = _SMALLEST if least else _LARGEST
    return table.get(computed_in, float("-inf") if least else float("inf"))


def padding(value: Value, loaded: dict[str, float]) -> float | None:
    """What the lanes beyond the row hold, where that is certain; `loaded` says what leaves are padded with."""
    if value.name in loaded:
        return loaded[value.name]
    if not value.is_wide or not value.operands or not isinstance(value.operands[0], Value):
        return None
    first, op = padding(value.operands[0], loaded), value.step.op
    if op == "sub" and first == float("-inf") and not getattr(value.operands[1], "is_wide", False):
        return first
    if op in ("fast_exp", "exp") and first == float("-inf"):
        return 0.0
    return 0.0 if first == 0 and op in ("square", "abs", "relu") else None


def masked(value: Value, kind: str, loaded: dict[str, float], mask: str) -> str:
    """The operand of a reduction, harmless beyond the row."""
    wanted = value.step.computed_in
    lane = neutral(kind, wanted)
    return value.name if padding(value, loaded) == lane else f"tl.where({mask}, {value.name}, {text(lane)})"
