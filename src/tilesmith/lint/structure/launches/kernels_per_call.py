"""Which kernels one call can start together: of two branches that exclude each other only one runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource
from tilesmith.lint.structure.host_code.host_calls import host_calls

DEEPEST_CALL = 6
LEAVES = (ast.Return, ast.Raise)
Names = frozenset[str]


def max_kernels_on_one_path(kernels: Sequence[JitFunction], source: KernelSource) -> int:
    """The largest number of these kernels on one path; what no path leads to counts as well."""
    wanted = frozenset(kernel.name for kernel in kernels)
    paths = _LaunchPaths(source, wanted)
    calls = host_calls(source)
    starting = [host for host in source.live_hosts if host.node in calls.launching]
    entries = [host for host in starting if not calls.callers(host)]
    found = frozenset[str]().union(*(paths.function(host, DEEPEST_CALL) for host in entries))
    return len(found | (wanted - paths.seen))


class _LaunchPaths:
    def __init__(self, source: KernelSource, wanted: Names) -> None:
        self.source, self.calls, self.wanted = source, host_calls(source), wanted
        self.seen: set[str] = set()
        self._known: dict[ast.AST, Names] = {}

    def function(self, host: HostCode, depth: int) -> Names:
        if host.node not in self._known:
            self._known[host.node] = frozenset()
            self._known[host.node] = self._block(host.node.body, host, depth) if depth else frozenset()
        return self._known[host.node]

    def _block(self, statements: Sequence[ast.stmt], host: HostCode, depth: int) -> Names:
        found: Names = frozenset()
        for position, statement in enumerate(statements):
            if not isinstance(statement, ast.If):
                found |= self._statement(statement, host, depth)
                continue
            found |= self._calls(statement.test, host, depth)
            ways = (statement.body, statement.orelse)
            parts = [self._block(way, host, depth) for way in ways]
            if any(map(_leaves, ways)):
                rest = self._block(statements[position + 1 :], host, depth)
                parts = [part if _leaves(way) else part | rest for part, way in zip(parts, ways, strict=True)]
                return max((found | part for part in parts), key=len)
            found = max((found | part for part in parts), key=len)
        return found

    def _statement(self, statement: ast.stmt, host: HostCode, depth: int) -> Names:
        match statement:
            case ast.For() | ast.While() | ast.With():
                return self._block(statement.body, host, depth)
            case ast.Try():
                return self._block([*statement.body, *statement.orelse, *statement.finalbody], host, depth)
        return self._calls(statement, host, depth)

    def _calls(self, root: ast.AST, host: HostCode, depth: int) -> Names:
        found: set[str] = set()
        for call in self.source.syntax.of_type(ast.Call, root):
            launch = self.calls.launches.get(call)
            if launch is not None:
                started = launch.kernels & self.wanted
                self.seen |= started
                found |= set(sorted(started)[:1])
                continue
            led = [self.function(callee, depth - 1) for callee in self.calls.callees(call, host)]
            found |= max(led, key=len, default=frozenset())
        self.seen |= found
        return frozenset(found)


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    return bool(statements) and isinstance(statements[-1], LEAVES)
