"""The head of a Python loop: what it runs over, how far it counts, which names it sets anew in each turn."""

from __future__ import annotations

import ast
from functools import cached_property

from tilesmith.lint.model.device.operations import literal_int
from tilesmith.lint.model.source import HostLoop
from tilesmith.lint.model.syntax.flow import read_flow, target_names
from tilesmith.lint.model.syntax.tree import SyntaxTree

WRAPPERS = frozenset({"enumerate", "zip", "reversed", "list", "tuple", "iter", "tqdm"})
COUNTERS = frozenset({"range", "trange"})
CHUNKING = frozenset({"split", "chunk", "tensor_split"})
COMPUTED = (
    ast.JoinedStr,
    ast.FormattedValue,
    ast.BinOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.Compare,
    ast.Name,
    ast.Constant,
)
"""What an index may be made into and still be an index."""
Comprehension = ast.ListComp | ast.GeneratorExp


class LoopHead:
    def __init__(self, node: HostLoop | Comprehension, syntax: SyntaxTree) -> None:
        self.node, self.syntax = node, syntax

    @property
    def body(self) -> list[ast.AST]:
        return [self.node.elt] if isinstance(self.node, (ast.ListComp, ast.GeneratorExp)) else [*self.node.body]

    @cached_property
    def iterated(self) -> list[ast.expr]:
        """What it runs over, without `enumerate`, `zip` and the like, and without counters."""
        return [value for value in self._unwrapped if not _is_counter(value)]

    @cached_property
    def _unwrapped(self) -> list[ast.expr]:
        if isinstance(self.node, ast.While):
            return []
        given = [self.node.iter] if isinstance(self.node, ast.For) else [g.iter for g in self.node.generators]
        found = []
        while given:
            value = given.pop()
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in WRAPPERS:
                given += value.args
            else:
                found.append(value)
        return found

    @cached_property
    def counts(self) -> list[ast.expr]:
        """The ends of `range(...)`, or the test of a `while`."""
        if isinstance(self.node, ast.While):
            return [self.node.test]
        return [argument for call in self._counters for argument in call.args[:2]]

    @property
    def _counters(self) -> list[ast.Call]:
        return [value for value in self._unwrapped if isinstance(value, ast.Call) and _is_counter(value)]

    @cached_property
    def indices(self) -> frozenset[str]:
        """The loop's variables, what a `while` counts up, and what is computed from these alone: `T - 1 - t`."""
        if isinstance(self.node, (ast.ListComp, ast.GeneratorExp)):
            return frozenset(name for g in self.node.generators for name in target_names(g.target))
        bindings = read_flow(self.syntax, self.node.body).bindings
        if isinstance(self.node, ast.While):
            found = {binding.name for binding in bindings} & self.syntax.names(self.node.test)
        else:
            found = set(target_names(self.node.target))
        for binding in bindings:
            parts = self.syntax.inside(binding.value)
            if self.syntax.names(binding.value) & found and all(isinstance(part, COMPUTED) for part in parts):
                found.add(binding.name)
        return frozenset(found)

    @property
    def takes_chunks(self) -> bool:
        """`x.split(64)`, `range(0, n, chunk)`: fewer turns than elements."""
        calls = [value for value in self._unwrapped if isinstance(value, ast.Call)]
        chunked = [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr in CHUNKING]
        steps = [call.args[2] for call in self._counters if len(call.args) == 3]
        return bool(chunked) or any(literal_int(step) not in (1, -1) for step in steps)


def _is_counter(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in COUNTERS
