"""What the host passes to a kernel's parameters, and what it has checked about it before."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource, LaunchSite, cached_per_source
from tilesmith.lint.structure.host_code.host_calls import host_calls

SAYS_NO_SIZE = frozenset({"self", "cls", "torch", "triton", "tl", "math", "shape", "size", "numel", "stride"})
DEEPEST_CALL = 3
MOST_CALLERS = 8
MOST_LAUNCHES = 32
"""Of one kernel that are read."""
TESTED = (ast.Assert, ast.If, ast.While, ast.IfExp)


class LaunchArgument(NamedTuple):
    """What one launch passes for a parameter."""

    node: ast.expr
    host: HostCode | None
    launch: LaunchSite


def arguments(source: KernelSource, kernel: JitFunction, name: str) -> list[LaunchArgument]:
    """One per launch that shows it."""
    found = []
    for launch in source.launches_of(kernel)[:MOST_LAUNCHES]:
        bound = launch.bound_to(kernel)
        if bound is not None and name in bound:
            found.append(LaunchArgument(bound[name], source.host_of(launch), launch))
    return found


def made_of(source: KernelSource, host: HostCode | None, *nodes: ast.AST) -> list[ast.AST]:
    """Every node these expressions of host code are made of, inside their function."""
    return list(source.syntax.inside(*nodes)) if host is None else host.flow.parts_behind(*nodes)


def made_of_anywhere(
    source: KernelSource, host: HostCode | None, node: ast.AST, depth: int = DEEPEST_CALL
) -> list[ast.AST]:
    """Also what callers of the function pass for the parameters it is made of."""
    found = made_of(source, host, node)
    if host is None or depth == 0:
        return found
    calls = host_calls(source)
    mentioned = {part.id for part in found if isinstance(part, ast.Name)} & set(host.params)
    for site in calls.callers(host)[:MOST_CALLERS] if mentioned else []:
        passed = calls.passed(site.call, host) or {}
        for name in sorted(mentioned & passed.keys()):
            found += made_of_anywhere(source, site.host, passed[name], depth - 1)
    return found


def words_of(nodes: list[ast.AST]) -> set[str]:
    """Names and attributes that can tell one size from another."""
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return (names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}) - SAYS_NO_SIZE


def is_checked(source: KernelSource, host: HostCode | None, *sizes: ast.AST) -> bool:
    """Some test of the host is about whether one of these sizes can be divided, or is one of a few numbers."""
    words = words_of(made_of(source, host, *sizes))
    return any(words & tested for tested in _size_tests(source))


@cached_per_source
def _size_tests(source: KernelSource) -> tuple[set[str], ...]:
    tests = [node.test for node in source.syntax.nodes if isinstance(node, TESTED) and _on_host(source, node)]
    found = [part for test in tests for part in _about_sizes(source, test)]
    return tuple(words_of(list(source.syntax.inside(part))) for part in found)


def _on_host(source: KernelSource, node: ast.AST) -> bool:
    return not any(source.syntax.contains(function.node, node) for function in source.jit_functions)


def _about_sizes(source: KernelSource, test: ast.expr) -> Iterator[ast.AST]:
    """`n % BLOCK`, `n & (n - 1)`, `n == triton.next_power_of_2(n)`, `D in (32, 64)`, `x.shape == (512, 256)`."""
    for node in source.syntax.inside(test):
        match node:
            case ast.BinOp(op=ast.Mod() | ast.BitAnd()):
                yield node
            case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn()], comparators=[right]):
                rounded = "next_power_of_2" in words_of(list(source.syntax.inside(node)))
                if rounded or (_is_written_out(right) and _is_size(node.left)):
                    yield node


def _is_written_out(node: ast.expr) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(_is_written_out(part) or isinstance(part, ast.Name) for part in node.elts)
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 2


def _is_size(node: ast.expr) -> bool:
    """A name, or an expression that mentions a shape."""
    match node:
        case ast.Name() | ast.Attribute(attr="shape"):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape")) | ast.Call(func=ast.Attribute(attr="size" | "numel")):
            return True
        case ast.Attribute(value=ast.Name(id="self")):
            return True
    return False
