"""Which device code the compiler certainly visits.

Triton compiles what it walks over: the branch of an `if` on a compile-time value that is not taken, a
`static_range` of no turns, code after a `return` and functions nobody calls are never looked at, and a
mistake there does no harm. Only code in this set may earn an `error`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tilesmith.lint.model.device.inference import DEVICE_RANGES
from tilesmith.lint.model.device.operations import literal_int
from tilesmith.lint.model.device.values import ValueKind
from tilesmith.lint.model.source import JitFunction, LaunchSite
from tilesmith.lint.model.syntax.names import Imports, Names

STATIC_RANGE = "triton.language.static_range"
STATIC_ASSERT = "triton.language.static_assert"
"""Its message is read only where the condition does not hold."""


def surely_compiled(
    functions: tuple[JitFunction, ...], launches: Iterable[LaunchSite], names: Names
) -> frozenset[ast.AST]:
    """All nodes the compiler meets, starting from kernels that these launches surely start."""
    lookup = _JitLookup(functions, names)
    waiting = [lookup.started(launch) for launch in launches]
    met: set[ast.AST] = set()
    done: set[JitFunction] = set()
    while waiting:
        function = waiting.pop()
        if function is None or function in done:
            continue
        done.add(function)
        nodes = _CompilerVisit(function, names.dotted).nodes()
        met |= nodes
        waiting += [lookup.named(n.func) for n in nodes if isinstance(n, ast.Call)]
    return frozenset(met)


class _JitLookup:
    """Which jit function a name certainly stands for: not a parameter or a local of the same name."""

    def __init__(self, functions: tuple[JitFunction, ...], names: Names) -> None:
        self.functions, self.names = functions, names

    def started(self, launch: LaunchSite) -> JitFunction | None:
        """An alias is followed; a name must be the kernel's own."""
        found = self._only(next(iter(launch.kernels))) if len(launch.kernels) == 1 else None
        named = launch.node.func.value if isinstance(launch.node.func, (ast.Subscript, ast.Attribute)) else None
        if found is not None and isinstance(named, ast.Name) and named.id == found.name:
            return self.named(named)
        return found

    def named(self, name: ast.expr) -> JitFunction | None:
        found = self._only(name.id) if isinstance(name, ast.Name) else None
        if found is None or not isinstance(name, ast.Name):
            return None
        scope = self.names.scope_binding(name)
        return found if scope is self.names.scope_of[found.node] and len(scope.bindings[name.id]) == 1 else None

    def _only(self, name: str) -> JitFunction | None:
        same_name = [function for function in self.functions if function.name == name]
        return same_name[0] if len(same_name) == 1 else None


class _CompilerVisit:
    """The compiler's way through one function."""

    def __init__(self, function: JitFunction, imports: Imports) -> None:
        self.function, self.imports = function, imports

    def nodes(self) -> set[ast.AST]:
        met: set[ast.AST] = set()
        waiting: list[ast.AST] = list(self._certain(self.function.node.body))
        while waiting:
            node = waiting.pop()
            met.add(node)
            waiting += self._next(node)
        return met

    def _next(self, node: ast.AST) -> list[ast.AST]:
        match node:
            case ast.If():
                both = self._at_run_time(node.test)
                branches = [*self._certain(node.body), *self._certain(node.orelse)] if both else []
                return [node.test, *branches]
            case ast.For():
                entered = self._iterator(node) in DEVICE_RANGES or self._unrolls(node)
                return [node.iter, *(self._certain(node.body) if entered else [])]
            case ast.While():
                return [node.test, *self._certain(node.body)]
            case ast.IfExp():
                return [node.test, *([node.body, node.orelse] if self._at_run_time(node.test) else [])]
            case ast.BoolOp():
                return [node.values[0]]
            case ast.Call() if self.imports.get(node.func) == STATIC_ASSERT:
                return list(node.args[:1])
            case ast.ListComp() | ast.Assert() | ast.FunctionDef() | ast.Lambda() | ast.Try():
                return []
        return list(ast.iter_child_nodes(node))

    def _certain(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Up to the first that returns, or that may: a choice at compile time with a `return` inside."""
        for position, statement in enumerate(statements):
            chosen = isinstance(statement, ast.If) and not self._at_run_time(statement.test)
            if isinstance(statement, ast.Return) or (chosen and self._returns(statement)):
                return statements[: position + 1]
        return statements

    def _returns(self, statement: ast.stmt) -> bool:
        return any(isinstance(node, ast.Return) for node in self.function.flow.syntax.inside(statement))

    def _at_run_time(self, test: ast.expr) -> bool:
        return self.function.value(test).kind is ValueKind.TENSOR

    def _unrolls(self, loop: ast.For) -> bool:
        """`tl.static_range` with literal bounds that make at least one turn."""
        return self._iterator(loop) == STATIC_RANGE and bool(static_turns(loop))

    def _iterator(self, loop: ast.For) -> str:
        if not isinstance(loop.iter, ast.Call):
            return ""
        function = loop.iter.func
        return self.imports.get(function) or (function.id if isinstance(function, ast.Name) else "")


def static_turns(loop: ast.For) -> range:
    """The turns of a loop whose bounds are written out; none when they are not."""
    given = loop.iter.args if isinstance(loop.iter, ast.Call) else []
    bounds = [literal_int(bound) for bound in given]
    numbers = [bound for bound in bounds if bound is not None]
    readable = len(numbers) == len(given) and 0 < len(numbers) < 4 and 0 not in numbers[2:]
    return range(*numbers) if readable else range(0)
