"""How large a task's tensors are, as far as its file says so in plain numbers."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping

from tilesmith.syntax import parse
from tilesmith.tasks.input_names import SHAPE_MAKERS, called_name
from tilesmith.tasks.source import TaskSource

OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def find_largest_tensor(task: TaskSource) -> int | None:
    """Elements of the largest tensor the file makes; None when no size can be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parse(task.text)
    constants = _constants(tree)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and called_name(n) in SHAPE_MAKERS]
    counts = [_elements(call, constants) for call in calls]
    return max((count for count in counts if count is not None), default=None)


def _constants(tree: ast.Module) -> dict[str, int]:
    known: dict[str, int] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for name, value in _assigned(statement):
                number = _number(value, known)
                if number is not None:
                    known[name] = number
    return known


def _assigned(statement: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """`a = 1` and `a, b = 1, 2`."""
    for target in statement.targets:
        if isinstance(target, ast.Name):
            yield target.id, statement.value
        elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            pairs = zip(target.elts, statement.value.elts, strict=False)
            yield from ((part.id, value) for part, value in pairs if isinstance(part, ast.Name))


def _elements(call: ast.Call, constants: Mapping[str, int]) -> int | None:
    shapes = [argument for argument in call.args if isinstance(argument, (ast.Tuple, ast.List))]
    sizes = [_number(size, constants) for size in (shapes[0].elts if shapes else call.args)]
    known = [size for size in sizes if size is not None]
    return math.prod(known) if known and len(known) == len(sizes) else None


def _number(value: ast.expr, constants: Mapping[str, int]) -> int | None:
    match value:
        case ast.Constant(value=int() as number):
            return int(number)
        case ast.Name(id=name):
            return constants.get(name)
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            left, right = _number(value.left, constants), _number(value.right, constants)
            if left is None or right is None or (isinstance(op, ast.FloorDiv) and right == 0):
                return None
            return OPERATORS[type(op)](left, right)
    return None
