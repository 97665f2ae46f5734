"""Normalization by structure: data scaled by a number that was reduced from data."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tilesmith.lint.dataflow import Flow, read_flow
from tilesmith.lint.source import JitFunction
from tilesmith.lint.vocabulary import LOADS, REDUCTIONS


def scales_by_statistic(function: JitFunction) -> bool:
    """`x * rstd`, `e / tl.sum(e)`: a block divided by, or multiplied with, the result of a reduction."""
    reductions = {call.node for call in function.calls if call.operation in REDUCTIONS}
    reductions |= {n for n in ast.walk(function.node) if isinstance(n, ast.Call) and _reduces_itself(n)}
    if not reductions:
        return False
    loads = {call.node for call in function.calls if call.operation in LOADS}
    flow = read_flow(function.node.body)
    blocks = _tainted(flow, loads, reductions)
    statistics = _tainted(flow, reductions, ()) - blocks
    for node in ast.walk(function.node):
        left, op, right = _operands(node)
        if left is None or right is None or not isinstance(op, (ast.Div, ast.Mult)):
            continue
        pairs = [(left, right)] if isinstance(op, ast.Div) else [(left, right), (right, left)]
        for block, scale in pairs:
            by_statistic = _touches(scale, statistics, reductions, ()) and not _touches(
                scale, blocks, loads, reductions
            )
            if by_statistic and _touches(block, blocks, loads, reductions):
                return True
    return False


def _operands(node: ast.AST) -> tuple[ast.expr | None, ast.operator | None, ast.expr | None]:
    if isinstance(node, ast.BinOp):
        return node.left, node.op, node.right
    if isinstance(node, ast.AugAssign):
        return node.target, node.op, node.value
    return None, None, None


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
