"""How a value that a loop carries is built up from its own last value: a sum, a product, or something more."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.model.syntax.flow import operands
from tilesmith.lint.structure.device_flow.value_flow import ValueFlow
from tilesmith.lint.vocabulary import DOTS

INTEGER = "integer"
"""Division with remainder, shifts and bits: an index taken apart, not a state."""
OPERATOR_GROUPS = {
    ast.Add: "sum",
    ast.Sub: "sum",
    ast.Mult: "product",
    **dict.fromkeys((ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor), INTEGER),
}
ONLY_SUMS = frozenset({"sum"})
EXTREMES = frozenset({"maximum", "minimum", "max", "min"})
SUMS = frozenset({"sum", "cumsum"})
MOST_NAMES = 100
"""Followed from the old to the new value."""
PASSING = frozenset({"to", "cast", "broadcast_to", "reshape", "view", "multiple_of"})
"""What leaves the values as they are."""


def operation(node: ast.AST, source: KernelSource) -> str:
    """`load` for any call of `triton.language.load`; also Python's own `max` and `min`."""
    if found := source.operation(node):
        return found
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    return called if called in EXTREMES else ""


def carried_by(name: str, flow: ValueFlow, source: KernelSource) -> frozenset[str] | None:
    """The kinds of operator between the old and the new value of a name; None when it is more than that."""
    path = _AccumulationPath(flow, source, name, frozenset())
    found = path.all([binding.value for binding in flow.by_name[name]])
    return None if found is None else frozenset(found)


def between(start: ast.AST, value: ast.AST, flow: ValueFlow, source: KernelSource) -> frozenset[str] | None:
    """The kinds of operator between one expression and another that is made of it."""
    found = _AccumulationPath(flow, source, "", frozenset({start})).of(value)
    return None if found is None else frozenset(found)


class _AccumulationPath:
    """From a name or a node to what is made of it."""

    def __init__(self, flow: ValueFlow, source: KernelSource, name: str, starts: frozenset[ast.AST]) -> None:
        self.flow, self.source, self.name, self.starts = flow, source, name, starts
        self.known: dict[str, set[str] | None] = {}

    def depends(self, value: ast.AST) -> bool:
        if self.name:
            return self.name in self.flow.origins(value)
        return any(part in self.starts for part in self.flow.parts_behind(value))

    def all(self, values: Iterable[ast.AST]) -> set[str] | None:
        groups: set[str] = set()
        for value in values:
            found = self.of(value)
            if found is None:
                return None
            groups |= found
        return groups

    def of(self, value: ast.AST) -> set[str] | None:
        if value in self.starts:
            return set()
        if isinstance(value, ast.Name):
            return self._of_name(value.id)
        if not self.depends(value):
            return set()
        found = operands(value)
        if found is not None and type(found.op) in OPERATOR_GROUPS:
            group = OPERATOR_GROUPS[type(found.op)]
            sides = [side for side in (found.left, found.right) if self.depends(side)]
            inner = self.all(sides) if len(sides) == 1 or group == "sum" else None
            return None if inner is None else inner | {group}
        if isinstance(value, ast.Subscript):
            return self.of(value.value)
        return self._of_call(value) if isinstance(value, ast.Call) else None

    def _of_call(self, call: ast.Call) -> set[str] | None:
        called = operation(call, self.source)
        if called == "where":
            return self.all(call.args[1:])
        if called in EXTREMES:
            inner = self.all(call.args)
            return None if inner is None else inner | {called}
        if called in DOTS or called == "fma":
            factors = any(self.depends(argument) for argument in call.args[:2])
            return None if factors else {"sum"}
        if called in PASSING:
            return self.of(call.args[0]) if call.args else None
        if called in SUMS:
            inner = self.of(call.args[0]) if call.args else None
            return None if inner is None else inner | {"sum"}
        if isinstance(call.func, ast.Attribute) and call.func.attr in PASSING and not called:
            return self.of(call.func.value)
        return None

    def _of_name(self, name: str) -> set[str] | None:
        """Each name once; one that is still being looked at adds nothing new."""
        if name == self.name or name not in self.flow.by_name:
            return set()
        if name not in self.known:
            if len(self.known) > MOST_NAMES:
                return None
            self.known[name] = set()
            self.known[name] = self.all([binding.value for binding in self.flow.by_name[name]])
        return self.known[name]
