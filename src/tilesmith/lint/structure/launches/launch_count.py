"""How many kernels one call starts at least, and which of them together, as far as the source alone tells.

Loops of unknown length count once; of branches that exclude each other the one with more launches counts.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence

from tilesmith.lint.model.sizes.possible_numbers import host_numbers
from tilesmith.lint.model.source import MODEL_CLASS, HostCode, JitFunction, KernelSource
from tilesmith.lint.structure.host_code.host_calls import host_calls

DEEPEST_CALL = 6
MOST_LAUNCHES = 100_000
LEAVES = (ast.Return, ast.Raise)
Launched = Counter[str]
"""How often each kernel is started; one that is not wanted has no name."""


def count_launches(source: KernelSource) -> int:
    """Of the model's forward; of the busiest function in a file without a model."""
    models = [host for host in source.hosts if host.owner is not None and host.owner.name == MODEL_CLASS]
    forward = [host for host in models if host.name == "forward"]
    entries = forward or [host for host in source.live_hosts if host.owner is None and _returns(source, host)]
    paths = _LaunchPaths(source, frozenset(function.name for function in source.jit_functions), Counter.total)
    starting = [host for host in entries if host.node in paths.calls.launching]
    most = max((paths.function(host, DEEPEST_CALL).total() for host in starting), default=0)
    return min(most, MOST_LAUNCHES)


def max_kernels_on_one_path(kernels: Sequence[JitFunction], source: KernelSource) -> int:
    """The largest number of these kernels on one path; what no path leads to counts as well."""
    wanted = frozenset(kernel.name for kernel in kernels)
    paths = _LaunchPaths(source, wanted, lambda launched: len(launched.keys() & wanted))
    starting = [host for host in source.live_hosts if host.node in paths.calls.launching]
    entries = [host for host in starting if not paths.calls.callers(host)]
    found = {name for host in entries for name in paths.function(host, DEEPEST_CALL)}
    return len((found | (wanted - paths.seen)) & wanted)


class _LaunchPaths:
    """Follows host code statement by statement; of two ways the larger one is taken."""

    def __init__(self, source: KernelSource, wanted: frozenset[str], size: Callable[[Launched], int]) -> None:
        self.source, self.calls, self.wanted, self.size = source, host_calls(source), wanted, size
        self.seen: set[str] = set()
        self._known: dict[ast.AST, Launched] = {}

    def function(self, host: HostCode, depth: int) -> Launched:
        if host.node not in self._known:
            self._known[host.node] = Counter()
            self._known[host.node] = self._block(host.node.body, host, depth) if depth else Counter()
        return self._known[host.node]

    def _block(self, statements: Sequence[ast.stmt], host: HostCode, depth: int) -> Launched:
        found: Launched = Counter()
        for position, statement in enumerate(statements):
            if not isinstance(statement, ast.If):
                found += self._statement(statement, host, depth)
                continue
            found += self._calls([statement.test], host, depth)
            ways = (statement.body, statement.orelse)
            parts = [self._block(way, host, depth) for way in ways]
            if any(map(_leaves, ways)):
                rest = self._block(statements[position + 1 :], host, depth)
                parts = [part if _leaves(way) else part + rest for part, way in zip(parts, ways, strict=True)]
                return max((found + part for part in parts), key=self.size)
            found = max((found + part for part in parts), key=self.size)
        return found

    def _statement(self, statement: ast.stmt, host: HostCode, depth: int) -> Launched:
        match statement:
            case ast.For():
                turns = 1 if self._only_repeats(statement) else self._turns(statement.iter, host)
                inside = self._block(statement.body, host, depth)
                repeated = Counter({name: min(turns * count, MOST_LAUNCHES) for name, count in inside.items()})
                return repeated + self._calls([statement.iter], host, depth)
            case ast.While() | ast.With():
                return self._block(statement.body, host, depth)
            case ast.Try():
                return self._block([*statement.body, *statement.orelse, *statement.finalbody], host, depth)
        return self._calls([statement], host, depth)

    def _calls(self, roots: list[ast.AST], host: HostCode, depth: int) -> Launched:
        found: Launched = Counter()
        for call in self.source.syntax.of_type(ast.Call, *roots):
            launch = self.calls.launches.get(call)
            if launch is not None:
                started = launch.kernels & self.wanted
                self.seen |= started
                found[min(started, default="")] += 1
            else:
                led = [self.function(callee, depth - 1) for callee in self.calls.callees(call, host)]
                largest: Launched = max(led, key=self.size, default=Counter())
                found += largest
        return found

    def _only_repeats(self, loop: ast.For) -> bool:
        """The same call again and again, its result thrown away: warming up or timing."""
        syntax = self.source.syntax
        index = syntax.names(loop.target) & syntax.names(*loop.body)
        return not index and all(isinstance(statement, ast.Expr) for statement in loop.body)

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
