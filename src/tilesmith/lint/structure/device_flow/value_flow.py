"""What values are computed from, as opposed to where they are loaded from: a load's address is left out."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cached_property

from tilesmith.lint.model.device.inference import LANGUAGE
from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.model.syntax.flow import Binding, Flow, names_behind
from tilesmith.lint.vocabulary import LOADS

DESCRIPTOR_LOADS = frozenset({"load", "gather"})


class ValueFlow:
    """A `Flow` in which a loaded value depends on nothing but the load."""

    def __init__(self, flow: Flow, source: KernelSource) -> None:
        self.flow, self.source = flow, source
        self._nodes: dict[ast.AST, Sequence[ast.AST]] = {}
        self._origins: dict[str, frozenset[str]] = {}

    @property
    def by_name(self) -> Mapping[str, tuple[Binding, ...]]:
        return self.flow.by_name

    def values_of(self, name: str) -> list[ast.AST]:
        return self.flow.values_of(name)

    def nodes(self, expression: ast.AST) -> Sequence[ast.AST]:
        """The expression and what is below it, loads as leaves."""
        if expression not in self._nodes:
            syntax = self.flow.syntax
            inside = syntax.inside(expression)
            loads = [node for node in inside if type(node) is ast.Call and self._is_load(node)]
            hidden = {node for load in loads for node in syntax.inside(load)[1:]}
            self._nodes[expression] = [node for node in inside if node not in hidden] if loads else inside
        return self._nodes[expression]

    def _is_load(self, node: ast.Call) -> bool:
        """`tl.load(...)`, and `descriptor.load(...)`."""
        dotted = self.source.dotted(node.func) or ""
        if dotted.startswith(LANGUAGE):
            return dotted.rpartition(".")[2] in LOADS
        return isinstance(node.func, ast.Attribute) and node.func.attr in DESCRIPTOR_LOADS

    def names(self, *expressions: ast.AST) -> set[str]:
        return {node.id for e in expressions for node in self.nodes(e) if type(node) is ast.Name}

    @cached_property
    def _made_of(self) -> Mapping[str, set[str]]:
        return {name: self.names(*self.flow.values_of(name)) for name in self.flow.by_name}

    def origins(self, *expressions: ast.AST) -> frozenset[str]:
        names = self.names(*expressions)
        return frozenset(names).union(*(self.origins_of(name) for name in names))

    def origins_of(self, name: str) -> frozenset[str]:
        """Every name this name is computed from; itself only if it feeds itself."""
        if name not in self._origins:
            self._origins[name] = names_behind(name, self._made_of)
        return self._origins[name]

    def parts_behind(self, *expressions: ast.AST) -> list[ast.AST]:
        """Every node of the expressions and of all they are computed from."""
        values = [*expressions, *(v for name in self.origins(*expressions) for v in self.flow.values_of(name))]
        return [node for value in values for node in self.nodes(value)]
