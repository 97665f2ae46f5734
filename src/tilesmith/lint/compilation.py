"""Which device code the compiler certainly visits.

Triton compiles what it walks over: the branch of an `if` on a compile-time value that is not taken, a
`static_range` of no turns, code after a `return` and functions nobody calls are never looked at, and a
mistake there does no harm. Only code in this set may earn an `error`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tilesmith.lint.blocks import Tensors, find_tensors
from tilesmith.lint.source import JitFunction, Launch


def surely_compiled(
    functions: tuple[JitFunction, ...],
    launches: tuple[Launch, ...],
    live: frozenset[ast.AST],
    imports: Mapping[ast.AST, str],
) -> frozenset[ast.AST]:
    """All nodes the compiler meets, starting from kernels that live host code launches."""
    live_launches = [launch for launch in launches if launch.function is None or launch.function in live]
    waiting = [name for launch in live_launches if len(launch.kernels) == 1 for name in launch.kernels]
    visited: set[ast.AST] = set()
    done: set[str] = set()
    while waiting:
        name = waiting.pop()
        same_name = [function for function in functions if function.name == name]
        if name in done or len(same_name) != 1:
            continue
        done.add(name)
        nodes = _visited_nodes(same_name[0], find_tensors(same_name[0], imports))
        visited |= nodes
        waiting += [n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    return frozenset(visited)


def _visited_nodes(function: JitFunction, tensors: Tensors) -> set[ast.AST]:
    visited: set[ast.AST] = set()
    waiting: list[ast.AST] = list(_until_return(function.node.body))
    while waiting:
        node = waiting.pop()
        visited.add(node)
        waiting += _certain_children(node, tensors)
    return visited


def _certain_children(node: ast.AST, tensors: Tensors) -> list[ast.AST]:
    match node:
        case ast.If():
            both = tensors.include(node.test)
            branches = [*_until_return(node.body), *_until_return(node.orelse)] if both else []
            return [node.test, *branches]
        case ast.For():
            return [node.iter, *(_until_return(node.body) if tensors.is_range(node) else [])]
        case ast.While():
            return [node.test, *_until_return(node.body)]
        case ast.IfExp():
            return [node.test, *([node.body, node.orelse] if tensors.include(node.test) else [])]
        case ast.BoolOp():
            return [node.values[0]]
        case ast.ListComp() | ast.Assert() | ast.FunctionDef() | ast.Lambda() | ast.Try():
            return []
    return list(ast.iter_child_nodes(node))


def _until_return(statements: list[ast.stmt]) -> list[ast.stmt]:
    for position, statement in enumerate(statements):
        if isinstance(statement, ast.Return):
            return statements[: position + 1]
    return statements
