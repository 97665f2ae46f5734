"""Finds the integers that set a task's sizes, and rewrites them in place.

Only numbers outside `Model` count: module-level constants and the literals of the functions
that make inputs and constructor arguments. What a network hard-codes belongs to its definition,
and a candidate kernel may hard-code it too. Everything else in the file stays byte for byte.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from tilesmith.syntax import parse
from tilesmith.tasks.input_names import SHAPE_MAKERS, called_name, find_input_names, find_leading_sizes
from tilesmith.tasks.source import DEFAULT_NAMES, TaskSource

CONTAINERS = SHAPE_MAKERS | {"dict", "Size", "tuple", "list"}
NOT_SIZES = {"manual_seed", "seed", "permute", "transpose", "unsqueeze", "squeeze", "flatten", "movedim"}
NOT_SIZE_KEYWORDS = {"dim", "axis", "seed", "ndim", "dims", "low"}
MAX_CONSTANTS = 400
"""A file with more integers than this is a data table, not a set of sizes."""


@dataclass(frozen=True)
class SizeConstant:
    """One integer of the task file that a shrink plan may replace."""

    name: str
    value: int
    start: int
    end: int
    feeds_inputs: bool
    leads_inputs: bool
    """Is the first dimension of an input: almost always the batch, which is free to change."""


def find_constants(task: TaskSource) -> list[SizeConstant]:
    """Every rewritable integer of the task, in file order, each position once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parse(task.text)
    starts = _line_starts(task.text)
    feeds = find_input_names(tree, task.inputs_name)
    found: dict[int, SizeConstant] = {}
    for name, node, leads in _named_integers(tree, task):
        root = re.split(r"[\[.:]", name)[0]
        start, end = (starts[line - 1] + column for line, column in _span(node))
        local = root == task.inputs_name
        constant = SizeConstant(
            name,
            _folded(node) or 0,
            start,
            end,
            feeds_inputs=local or root in feeds.inputs,
            leads_inputs=leads or (root in feeds.leading and "[" not in name) or name in feeds.leading,
        )
        found.setdefault(start, constant)
    return [found[start] for start in sorted(found)][:MAX_CONSTANTS]


def rewrite_constants(text: str, replacements: dict[SizeConstant, int]) -> str:
    """`text` with each constant replaced by its new value and nothing else touched."""
    data = text.encode()
    for constant in sorted(replacements, key=lambda item: -item.start):
        data = data[: constant.start] + str(replacements[constant]).encode() + data[constant.end :]
    return data.decode()


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(rb"\r\n|\r|\n", text.encode()))]


def _span(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _folded(node: ast.expr) -> int | None:
    """The value of an integer literal or of plain arithmetic on literals; else None."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _folded(node.left), _folded(node.right)
    if left is None or right is None or left > 1 << 40 or right > 1 << 40:
        return None
    match node.op:
        case ast.Mult():
            return left * right
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.FloorDiv() if right:
            return left // right
        case ast.Pow() if 0 <= right <= 40:
            return int(left**right)
        case ast.LShift() if 0 <= right <= 40:
            return left << right
    return None


def _named_integers(tree: ast.Module, task: TaskSource) -> Iterator[tuple[str, ast.expr, bool]]:
    functions = {task.inputs_name, task.init_name or DEFAULT_NAMES["init"]}
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            yield from ((name, node, False) for name, node in _in_assignment(target, statement.value))
        elif isinstance(statement, ast.FunctionDef) and statement.name in functions:
            yield from _in_function(statement)


def _in_assignment(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one_target, one_value in zip(target.elts, value.elts, strict=False):
            yield from _in_assignment(one_target, one_value)
    elif isinstance(target, ast.Name):
        yield from _in_value(target.id, value)


def _in_value(name: str, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The integers inside a constant expression, named by how one would reach them."""
    if _folded(value) is not None:
        yield name, value
    elif isinstance(value, ast.Tuple | ast.List):
        for index, element in enumerate(value.elts):
            yield from _in_value(f"{name}[{index}]", element)
    elif isinstance(value, ast.Dict):
        for key, element in zip(value.keys, value.values, strict=True):
            label = ast.unparse(key) if key is not None else "**"
            yield from _in_value(f"{name}[{label}]", element)
    elif isinstance(value, ast.BinOp) and not isinstance(value.op, ast.Div):
        yield from _in_value(name, value.left)
        yield from _in_value(name, value.right)
    elif isinstance(value, ast.Call) and called_name(value) in CONTAINERS:
        for index, argument in enumerate(value.args):
            yield from _in_value(f"{name}[{index}]", argument)
        for keyword in value.keywords:
            yield from _in_value(f"{name}[{keyword.arg!r}]", keyword.value)


def _in_function(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr, bool]]:
    """Literals of a function that makes inputs: its defaults, local names and bare arguments."""
    leading = {id(node) for node in find_leading_sizes(function)}
    led_by = {node.id for node in find_leading_sizes(function) if isinstance(node, ast.Name)}
    arguments = function.args.args[len(function.args.args) - len(function.args.defaults) :]
    for argument, default in zip(arguments, function.args.defaults, strict=True):
        for name, node in _in_value(f"{function.name}.{argument.arg}", default):
            yield name, node, argument.arg in led_by
    for label, node in _integers_below(function, ""):
        name = f"{function.name}.{label}" if label else f"{function.name}:{node.lineno}:{node.col_offset}"
        yield name, node, id(node) in leading or label in led_by


def _integers_below(node: ast.AST, label: str) -> Iterator[tuple[str, ast.expr]]:
    """Integer expressions under `node`, each with the local name, keyword or key it is given to."""
    if isinstance(node, ast.expr) and _folded(node) is not None:
        yield label, node
    elif isinstance(node, ast.UnaryOp | ast.JoinedStr | ast.arguments | ast.Compare):
        return
    elif isinstance(node, ast.Subscript):
        yield from _integers_below(node.value, "")
    elif isinstance(node, ast.Call) and called_name(node) in NOT_SIZES:
        yield from _integers_below(node.func, "")
    elif isinstance(node, ast.keyword):
        if node.arg not in NOT_SIZE_KEYWORDS:
            yield from _integers_below(node.value, node.arg or "")
    elif isinstance(node, ast.Assign):
        target = node.targets[0]
        yield from _integers_below(node.value, target.id if isinstance(target, ast.Name) else "")
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _integers_below(value, str(key.value) if isinstance(key, ast.Constant) else "")
    else:
        for child in ast.iter_child_nodes(node):
            yield from _integers_below(child, "")
