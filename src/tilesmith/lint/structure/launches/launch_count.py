"""How many kernels one call of the model starts at least, as far as the source alone tells.

Loops of unknown length count once; of two branches the one with more launches counts.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilesmith.lint.model.sizes.possible_numbers import host_numbers
from tilesmith.lint.model.source import MODEL_CLASS, HostCode, KernelSource
from tilesmith.lint.structure.host_code.host_calls import HostCalls, host_calls

DEEPEST_CALL = 6
MOST_LAUNCHES = 100_000
LEAVES = (ast.Return, ast.Raise)


def count_launches(source: KernelSource) -> int:
    """Of the model's forward; of the busiest function in a file without a model."""
    calls = host_calls(source)
    models = [host for host in source.hosts if host.owner is not None and host.owner.name == MODEL_CLASS]
    forward = [host for host in models if host.name == "forward"]
    entries = forward or [host for host in source.live_hosts if host.owner is None and _returns(source, host)]
    counter = _LaunchCounter(source, calls)
    starting = [host for host in entries if host.node in calls.launching]
    return max((counter.function(host, DEEPEST_CALL) for host in starting), default=0)


class _LaunchCounter:
    def __init__(self, source: KernelSource, calls: HostCalls) -> None:
        self.source, self.calls = source, calls
        self._known: dict[ast.AST, int] = {}

    def function(self, host: HostCode, depth: int) -> int:
        if host.node not in self._known:
            self._known[host.node] = 0
            self._known[host.node] = self._block(host.node.body, host, depth) if depth else 0
        return self._known[host.node]

    def _block(self, statements: Sequence[ast.stmt], host: HostCode, depth: int) -> int:
        total = 0
        for position, statement in enumerate(statements):
            if not isinstance(statement, ast.If):
                total += self._statement(statement, host, depth)
                continue
            ways = (statement.body, statement.orelse)
            counts = [self._block(way, host, depth) for way in ways]
            if any(map(_leaves, ways)):
                rest = self._block(statements[position + 1 :], host, depth)
                whole = [c if _leaves(way) else c + rest for c, way in zip(counts, ways, strict=True)]
                return min(total + max(whole), MOST_LAUNCHES)
            total += max(counts)
        return min(total, MOST_LAUNCHES)

    def _statement(self, statement: ast.stmt, host: HostCode, depth: int) -> int:
        match statement:
            case ast.For():
                turns = 1 if self._only_repeats(statement) else self._turns(statement.iter, host)
                return turns * self._block(statement.body, host, depth) + self._calls([statement.iter], host, depth)
            case ast.While() | ast.With() | ast.Try():
                return self._block(statement.body, host, depth)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return 0
        return self._calls([statement], host, depth)

    def _only_repeats(self, loop: ast.For) -> bool:
        """The same call again and again, its result thrown away: warming up or timing."""
        syntax = self.source.syntax
        index = syntax.names(loop.target) & syntax.names(*loop.body)
        return not index and all(isinstance(statement, ast.Expr) for statement in loop.body)

    def _calls(self, roots: list[ast.AST], host: HostCode, depth: int) -> int:
        total = 0
        for call in self.source.syntax.of_type(ast.Call, *roots):
            if call in self.calls.launches:
                total += 1
            else:
                callees = self.calls.callees(call, host)
                total += max((self.function(callee, depth - 1) for callee in callees), default=0)
        return total

    def _turns(self, iterated: ast.expr, host: HostCode) -> int:
        """One where the length is unknown."""
        match iterated:
            case ast.Call(func=ast.Name(id="range"), args=[count]):
                numbers = host_numbers(self.source, host, count)
                return min(numbers) if numbers else 1
            case ast.Call(func=ast.Name(id="enumerate" | "reversed" | "zip"), args=[first, *_]):
                return self._turns(first, host)
            case ast.List() | ast.Tuple():
                return len(iterated.elts)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._members(name)
        return 1

    def _members(self, name: str) -> int:
        """The length of `self.layers = nn.ModuleList([...])`, where it is written out."""
        for node in self.source.syntax.of_type(ast.Assign):
            named = any(isinstance(target, ast.Attribute) and target.attr == name for target in node.targets)
            if named and isinstance(node.value, ast.Call) and len(node.value.args) == 1:
                return self._length(node.value.args[0])
        return 1

    def _length(self, value: ast.expr) -> int:
        match value:
            case ast.List() | ast.Tuple():
                return 1 if any(isinstance(e, ast.Starred) for e in value.elts) else len(value.elts)
            case ast.ListComp(generators=[generator]) | ast.GeneratorExp(generators=[generator]):
                owner = next((h for h in self.source.hosts if self.source.syntax.contains(h.node, value)), None)
                return self._turns(generator.iter, owner) if owner and not generator.ifs else 1
        return 1


def _returns(source: KernelSource, host: HostCode) -> bool:
    """An operator gives something back; a trial run at the end of a file does not."""
    return any(node.value is not None for node in source.syntax.of_type(ast.Return, *host.node.body))


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    return bool(statements) and isinstance(statements[-1], LEAVES)
