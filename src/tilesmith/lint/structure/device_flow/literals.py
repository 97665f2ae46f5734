"""Numbers as device code writes them: `0`, `-1e30`, `-float("inf")`, `float("-inf")`."""

from __future__ import annotations

import ast
import math

INFINITE = {"inf": math.inf, "-inf": -math.inf, "+inf": math.inf, "infinity": math.inf, "-infinity": -math.inf}


def literal(node: ast.AST | None) -> float | None:
    """The value of a number written out; None for anything else."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub()):
            inner = literal(node.operand)
            return None if inner is None else -inner
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as word)]):
            return INFINITE.get(word.strip().lower())
        case ast.Attribute(attr="inf"):
            return math.inf
    return None
