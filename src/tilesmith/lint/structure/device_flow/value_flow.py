"""What values are computed from, as opposed to where they are loaded from; which marked operations lie behind."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.source import JitFunction, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.flow import Flow
from tilesmith.lint.vocabulary import LANGUAGE, LOADS

DESCRIPTOR_LOADS = frozenset({"load", "gather"})


@dataclass(frozen=True)
class ValueFlow(Flow):
    """A `Flow` in which a loaded value depends on nothing but the load."""

    source: KernelSource

    @classmethod
    def of(cls, flow: Flow, source: KernelSource) -> ValueFlow:
        return cls(flow.syntax, flow.bindings, source)

    @cached_property
    def _nodes(self) -> dict[ast.AST, Sequence[ast.AST]]:
        return {}

    def nodes(self, expression: ast.AST) -> Sequence[ast.AST]:
        """The expression and what is below it, loads as leaves."""
        if expression not in self._nodes:
            inside = self.syntax.inside(expression)
            loads = [node for node in inside if type(node) is ast.Call and self._is_load(node)]
            hidden = {node for load in loads for node in self.syntax.inside(load)[1:]}
            self._nodes[expression] = [node for node in inside if node not in hidden] if loads else inside
        return self._nodes[expression]

    def names(self, *expressions: ast.AST) -> set[str]:
        return {node.id for e in expressions for node in self.nodes(e) if type(node) is ast.Name}

    def _is_load(self, node: ast.Call) -> bool:
        """`tl.load(...)`, and `descriptor.load(...)`."""
        if operation := self.source.operation(node):
            return operation in LOADS
        return isinstance(node.func, ast.Attribute) and node.func.attr in DESCRIPTOR_LOADS


Marks = frozenset[ast.AST]


class Dependence:
    """Marks behind expressions of one function. What lies below a barrier, such as an address, does not count."""

    def __init__(
        self,
        flow: Flow,
        marks: Collection[ast.AST],
        barriers: Collection[ast.AST],
        ends: Mapping[str, ast.AST] | None = None,
    ) -> None:
        self.flow, self.marks, self.barriers = flow, frozenset(marks), frozenset(barriers)
        self.ends = ends or {}
        """Names that are not followed and stand for a mark themselves."""
        self._direct: dict[str, tuple[Marks, frozenset[str]]] = {}
        self._known: dict[str, Marks] = {}

    def behind(self, *expressions: ast.AST | None) -> Marks:
        marks, names = self._read([e for e in expressions if e is not None])
        return marks.union(*(self._of_name(name) for name in names))

    def _of_name(self, name: str) -> Marks:
        if name not in self._known:
            seen: set[str] = set()
            found: set[ast.AST] = set()
            waiting = [name]
            while waiting:
                current = waiting.pop()
                if current not in seen:
                    seen.add(current)
                    marks, names = self._bound(current)
                    found |= marks
                    waiting += names
            self._known[name] = frozenset(found)
        return self._known[name]

    def _bound(self, name: str) -> tuple[Marks, frozenset[str]]:
        if name not in self._direct:
            self._direct[name] = self._read(self.flow.values_of(name))
        return self._direct[name]

    def _read(self, expressions: list[ast.AST]) -> tuple[Marks, frozenset[str]]:
        """The marks and the names in sight."""
        found: set[ast.AST] = set()
        names: set[str] = set()
        inside, marks, barriers, ends = self.flow.syntax.inside, self.marks, self.barriers, self.ends
        for expression in expressions:
            nodes = inside(expression)
            position = 0
            while position < len(nodes):
                node = nodes[position]
                if node in marks:
                    found.add(node)
                if node in barriers:
                    position += len(inside(node))
                    continue
                position += 1
                if type(node) is ast.Name:
                    if node.id in ends:
                        found.add(ends[node.id])
                    else:
                        names.add(node.id)
        return frozenset(found), frozenset(names)


@cached_per_source
def load_calls(function: JitFunction, source: KernelSource) -> Marks:
    """`tl.load(...)` and `descriptor.load(...)`."""
    found: set[ast.AST] = {call.node for call in function.calls if call.operation in LOADS}
    for node in function.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in DESCRIPTOR_LOADS:
                if not (source.dotted(node.func) or "").startswith(LANGUAGE):
                    found.add(node)
    return frozenset(found)


@cached_per_source
def loaded_data(function: JitFunction, source: KernelSource) -> Dependence:
    """The loads behind expressions, without those that make their addresses."""
    loads = load_calls(function, source)
    return Dependence(function.flow, loads, loads)
