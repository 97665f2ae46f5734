"""Normalization by structure: data scaled by a number that was reduced from data."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tilesmith.lint.model.flow import Flow, operands
from tilesmith.lint.model.source import JitFunction
from tilesmith.lint.vocabulary import LOADS, REDUCTIONS


def scales_by_statistic(function: JitFunction) -> bool:
    """`x * rstd`, `e / tl.sum(e)`: a block divided by, or multiplied with, the result of a reduction."""
    reductions = {call.node for call in function.calls if call.operation in REDUCTIONS}
    reductions |= {n for n in function.nodes if isinstance(n, ast.Call) and _reduces_itself(n)}
    if not reductions:
        return False
    loads = {call.node for call in function.calls if call.operation in LOADS}
    flow = function.flow
    blocks = _tainted(flow, loads, reductions)
    statistics = _tainted(flow, reductions, ()) - blocks
    for node in function.nodes:
        found = operands(node)
        if found is None or not isinstance(found.op, (ast.Div, ast.Mult)):
            continue
        pairs = [(found.left, found.right)]
        if isinstance(found.op, ast.Mult):
            pairs.append((found.right, found.left))
        for block, scale in pairs:
            by_statistic = _touches(scale, statistics, reductions, ()) and not _touches(
                scale, blocks, loads, reductions
            )
            if by_statistic and _touches(block, blocks, loads, reductions):
                return True
    return False


def _reduces_itself(call: ast.Call) -> bool:
    """`x.sum(axis=0)` on a tensor."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in {"sum", "max", "min"}


def _tainted(flow: Flow, sources: Collection[ast.AST], barriers: Collection[ast.AST]) -> frozenset[str]:
    """Names made from one of the sources without passing through a barrier."""
    tainted: frozenset[str] = frozenset()
    for _ in range(50):
        more = frozenset(b.name for b in flow.bindings if _touches(b.value, tainted, sources, barriers))
        if more <= tainted:
            break
        tainted |= more
    return tainted


def _touches(
    value: ast.AST, names: frozenset[str], sources: Collection[ast.AST], barriers: Collection[ast.AST]
) -> bool:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if node in barriers:
            continue
        if node in sources or (isinstance(node, ast.Name) and node.id in names):
            return True
        waiting += list(ast.iter_child_nodes(node))
    return False
