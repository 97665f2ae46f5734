"""Failures of a kernel that nobody gets to see."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.host.reachability import FUNCTIONS
from tilesmith.lint.model.source import HostCode, KernelSource
from tilesmith.lint.model.syntax.call_arguments import last_name
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.host_code.host_calls import host_calls
from tilesmith.lint.vocabulary import words
from tilesmith.records import Finding

HARMLESS = words("ImportError ModuleNotFoundError OutOfResources OutOfMemoryError KeyError StopIteration")
"""No fault of a kernel: Triton is missing, a tile or a tensor was too large, a table had no entry."""
TRIES = (ast.Try, ast.TryStar)
LAUNCH = "a failing kernel is hidden here and something else answers: let it raise, and drop the fallback"
DEFINITION = "a kernel whose definition fails is hidden here: let it raise; only ImportError need be caught"


def try_except_fallback(source: KernelSource) -> Iterator[Finding]:
    """A kernel that fails and is quietly replaced is never repaired."""
    for node in source.syntax.nodes:
        if isinstance(node, TRIES) and node.handlers and source.runs(node):
            message = _protects(node.body, node, source)
            for handler in node.handlers if message else ():
                if _hides(handler, node, source):
                    yield warning("try-except-fallback", handler.lineno, message)
        elif isinstance(node, ast.With) and source.runs(node):
            message = _protects(node.body, node, source) if _suppresses(node, source) else ""
            if message:
                yield warning("try-except-fallback", node.lineno, message)


def _protects(statements: list[ast.stmt], around: ast.AST, source: KernelSource) -> str:
    """What a `try` keeps from failing loudly: a launch, a kernel's definition, or nothing of that kind."""
    host = _host_around(around, source)
    if _launches(statements, host, source):
        return LAUNCH
    defined = any(source.syntax.contains(s, f.node) for s in statements for f in source.jit_functions)
    return DEFINITION if defined and host is None else ""


def _launches(statements: list[ast.stmt], host: HostCode | None, source: KernelSource) -> bool:
    if host is None:
        return any(launch.node in source.syntax.inside(*statements) for launch in source.launches)
    return bool(host_calls(source).launching_calls(host, *statements))


def _hides(handler: ast.ExceptHandler, around: ast.Try | ast.TryStar, source: KernelSource) -> bool:
    caught = [last_name(kind) for kind in _kinds(handler.type)]
    if caught and all(name in HARMLESS for name in caught):
        return False
    if any(isinstance(statement, ast.Raise) for statement in handler.body) or _tries_on(handler, around, source):
        return False
    return not _launches(handler.body, _host_around(around, source), source)


def _tries_on(handler: ast.ExceptHandler, around: ast.AST, source: KernelSource) -> bool:
    """One of several configurations failed while they were being timed."""
    in_loop = any(isinstance(above, (ast.For, ast.While)) for above in source.syntax.ancestors(around))
    endless = any(isinstance(n, ast.Constant) and n.value == "inf" for n in source.syntax.inside(handler))
    return endless or (in_loop and isinstance(handler.body[-1], ast.Continue))


def _kinds(kind: ast.expr | None) -> list[ast.expr]:
    if kind is None:
        return []
    return kind.elts if isinstance(kind, ast.Tuple) else [kind]


def _suppresses(node: ast.With, source: KernelSource) -> bool:
    for item in node.items:
        match item.context_expr:
            case ast.Call(func=function, args=kinds) if source.dotted(function) == "contextlib.suppress":
                return not all(last_name(kind) in HARMLESS for kind in kinds)
    return False


def _host_around(node: ast.AST, source: KernelSource) -> HostCode | None:
    inner = next((above for above in source.syntax.ancestors(node) if isinstance(above, FUNCTIONS)), None)
    return next((host for host in source.hosts if host.node is inner), None)
