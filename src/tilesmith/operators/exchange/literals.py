"""Values that a Python file writes out, read without running it."""

from __future__ import annotations

import ast
import operator as arithmetic
from collections.abc import Callable, Mapping
from typing import Any

from tilesmith.operators.records import DTYPES


class Underivable(Exception):
    """The file does not say it in a way that can be read."""


_SECOND_NAMES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64"}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: arithmetic.add,
    ast.Sub: arithmetic.sub,
    ast.Mult: arithmetic.mul,
    ast.FloorDiv: arithmetic.floordiv,
    ast.LShift: arithmetic.lshift,
    ast.Pow: arithmetic.pow,
}


def literal(node: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    """The value of what is written out, dtypes as text; `2**20` and names of the module included."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(literal(one, names) for one in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand, names)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = literal(node.left, names), literal(node.right, names)
        sequences = isinstance(left, tuple) and isinstance(right, tuple) and isinstance(node.op, ast.Add)
        small = all(isinstance(one, int | float) and abs(one) < 1 << 40 for one in (left, right))
        if sequences or (small and not (isinstance(node.op, ast.Pow | ast.LShift) and abs(right) > 40)):
            return _ARITHMETIC[type(node.op)](left, right)
    if isinstance(node, ast.Name) and node.id in names:
        return literal(names[node.id], {name: value for name, value in names.items() if name != node.id})
    if isinstance(node, ast.Attribute) and dtype_of(ast.unparse(node)):
        return ast.unparse(node)
    raise Underivable


def _number(node: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    value = literal(node, names)
    if not isinstance(value, int | float):
        raise Underivable
    return value


def dtype_of(text: str) -> str | None:
    """`torch.half` as float16; None for what is no dtype."""
    name = text.removeprefix("torch.") if text.startswith("torch.") else ""
    name = _SECOND_NAMES.get(name, name)
    return name if name in DTYPES else None
