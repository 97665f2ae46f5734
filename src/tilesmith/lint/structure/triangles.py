"""Running sums by `tl.dot`: a triangle of ones times the data."""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.structure.contractions import contractions
from tilesmith.lint.structure.dependence import Dependence, load_calls

ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def sums_by_triangle(function: JitFunction, source: KernelSource) -> bool:
    found = [made for made in contractions(function, source) if made.kind == "dot"]
    return any(is_triangle(factor, function, source) for made in found for factor in made.factors)


def is_triangle(factor: ast.expr, function: JitFunction, source: KernelSource) -> bool:
    """`tl.where(i[:, None] >= i[None, :], 1.0, 0.0)`: made of nothing but lanes compared with lanes."""
    flow = function.flow
    if flow.origins(factor) & (frozenset(function.params) - function.constexprs):
        return False
    orders = [node for node in function.nodes if isinstance(node, ast.Compare) and isinstance(node.ops[0], ORDERS)]
    lanes = Dependence(flow, [call.node for call in function.calls_of("arange")], ())
    loads = load_calls(function, source)
    compared = [n for n in orders if lanes.behind(n.left) and lanes.behind(n.comparators[0])]
    behind = Dependence(flow, [*compared, *loads], loads).behind(factor)
    return bool(behind) and not behind & loads
