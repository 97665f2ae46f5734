"""A graph as a formula people can read: `y = x * sigmoid(x)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilesmith.playbook.graph.indices import grouped
from tilesmith.playbook.graph.loops import STATE
from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import (
    ALIASES,
    PARTED,
    REPEATED,
    VIEWS,
    find_needed_nodes,
    list_working_operators,
    operator_name,
)
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.graph.steps import KernelStep
from tilesmith.tasks.graph import GETITEM, Node, reference
from tilesmith.tasks.numbers.size_expressions import explain
from tilesmith.tasks.numbers.varying import is_varying

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "=="}
_LONGEST = 240
_UNTOLD = {"device", "layout", "pin_memory", "dtype"}
"""Arguments that say where a tensor is made, not what is in it."""
_OPEN = 2**62
"""A slice that ends beyond this ends with the tensor."""


def write_formula(low: Lowering, output: str) -> str:
    """The output in terms of the inputs; a list of operators where that gets too long."""
    written = _FormulaWriter(low).of({"node": output}, top=True)
    if len(written) <= _LONGEST:
        return written
    kinds = list_working_operators(low.graph)
    return f"f({', '.join(_leaves(low))}), a chain of {', '.join(kinds)}"


def _leaves(low: Lowering) -> list[str]:
    return [value.name for value in low.values.values() if isinstance(value, KernelStep) and value.op == "leaf"]


def _dim(node: Node) -> int:
    dim = int(node.args[1]) if len(node.args) > 1 else 0
    return dim if dim >= 0 else dim + len(node.shape or ()) + (operator_name(node) == "select")


class _FormulaWriter:
    """Writes every node once, in order; what grows too long is cut, so that sharing cannot make it explode."""

    def __init__(self, low: Lowering) -> None:
        self._low = low
        self._texts: dict[str, str] = {}
        self._several = {node.name for node in low.graph.nodes if operator_name(node) in PARTED}
        for node in find_needed_nodes(low.graph):
            self._texts[node.name] = self._written(node)

    def of(self, value: Any, top: bool = False) -> str:
        name = reference(value)
        if name is None:
            return self._literal(value)
        text = self._texts.get(name) or self._low.step(name).name
        return text[1:-1] if top and text.startswith("(") else text

    def _written(self, node: Node) -> str:
        kind = operator_name(node)
        if node.op == STATE:
            return self._low.step(node.name).name
        if node.op == GETITEM and reference(node.args[0]) in self._several:
            return f"{self.of(node.args[0])}[{node.args[1]}]"
        if node.op == GETITEM or kind in ALIASES or kind in VIEWS | REPEATED:
            return self.of(node.args[0]) if node.args else kind
        if kind in ("slice", "select"):
            return f"{self.of(node.args[0])}[{':, ' * _dim(node)}{self._range(node)}]"
        symbol = _INFIX.get(kind)
        if symbol and len(node.args) == 2 and not node.kwargs:
            text = f"({self.of(node.args[0])} {symbol} {self.of(node.args[1])})"
        else:
            written = [self.of(argument, top=True) for argument in node.args if argument is not None]
            given = [(key, value) for key, value in node.kwargs.items() if key not in _UNTOLD]
            written += [f"{key}={self.of(value, top=True)}" for key, value in given if value is not None]
            text = f"{kind.strip('_')}({', '.join(written)})"
        return text if len(text) <= 2 * _LONGEST else "(" + "." * 2 * _LONGEST + ")"

    def _range(self, node: Node) -> str:
        """What stands in brackets: `4:`, `::2`, `-1`."""
        if operator_name(node) == "select":
            return self.of(node.args[2])
        start, end, every = (
            find_argument(node, place, name) for place, name in ((2, "start"), (3, "end"), (4, "step"))
        )
        first, last = self.of(start) if start else "", self.of(end) if end is not None and end < _OPEN else ""
        return f"{first}:{last}{f':{every}' if every else ''}"

    def _literal(self, value: Any) -> str:
        if isinstance(value, Mapping):
            return str(next(iter(value.values())))
        if isinstance(value, list):
            return f"[{', '.join(self.of(item) for item in value)}]"
        if is_varying(value) and (found := explain(value, self._low.graph.sizes)):
            return grouped(found.write(str))
        return str(value)
