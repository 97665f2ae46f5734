"""How large the numbers of a result may get, as text: what is kept in halves must be scaled before it is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any

from tilesmith.playbook.graph.placement import PlacedValue
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import CAST, LEAF, PRODUCT
from tilesmith.playbook.unmatched import Unmatched

_NO_FURTHER = {"relu", "relu6", "gelu", "silu", "mish", "hardswish", "tanh", "neg", "abs", CAST}
"""Operators whose result is not further from zero than their operand."""
_BELOW_ONE = {"sigmoid", "hardsigmoid"}
_SUMS = {"add", "sub", "maximum", "minimum", "clamp", "clamp_min", "clamp_max", "hardtanh"}
"""Operators whose result is not further from zero than their operands together."""


class Reach:
    """Writes bounds; `measured` are the numbers of parameters that they are made of, by the pointer to each."""

    def __init__(self, owned: Collection[str], taken: Mapping[str, str]) -> None:
        """`owned` are parameters, as the kernel calls them; `taken` images, with what their largest number is."""
        self._owned, self._taken = owned, taken
        self.measured: dict[str, str] = {}

    def of(self, value: Any) -> str:
        if isinstance(value, NamedNumber) and value.host:
            return f"tl.abs({value.name})"
        if not isinstance(value, PlacedValue) and not (isinstance(value, int | float) and isfinite(value)):
            raise Unmatched("computes numbers that may be of any size")
        if not isinstance(value, PlacedValue):
            return repr(abs(float(value)))
        step, op = value.step, value.step.op
        if op == PRODUCT:
            return "reach"
        if op == LEAF and step.name in self._taken:
            return self._taken[step.name]
        if op == LEAF and step.name in self._owned:
            return self._measured(step.name, "largest")
        if op in _SUMS and not step.options:
            return f"({' + '.join(self.of(one) for one in value.operands if one is not None)})"
        if op == "mul":
            return " * ".join(map(self.of, value.operands))
        if op in _NO_FURTHER or (op == "leaky_relu" and all(abs(float(one)) <= 1 for one in value.operands[1:])):
            return self.of(value.operands[0])
        if op in _BELOW_ONE:
            return f"({self.of(value.operands[0])} + 1.0)"
        if op == "rsqrt":
            return f"tl.rsqrt({self._least(value.operands[0])})"
        raise Unmatched(f"computes numbers that may be of any size ({op})")

    def _least(self, value: Any) -> str:
        """Of a variance and what keeps it from zero."""
        if isinstance(value, PlacedValue) and value.step.op == LEAF and value.step.name in self._owned:
            return self._measured(value.step.name, "least")
        if isinstance(value, PlacedValue) and value.step.op == "add" and not value.step.options:
            return f"({' + '.join(map(self._least, value.operands))})"
        if isinstance(value, int | float) and value >= 0:
            return value.name if isinstance(value, NamedNumber) and value.host else repr(float(value))
        raise Unmatched("divides by what may be as small as it likes")

    def _measured(self, leaf: str, which: str) -> str:
        self.measured[f"{leaf}_{which}"] = f"find_{which}, {leaf}"
        return f"tl.load({leaf}_{which}_ptr)"
