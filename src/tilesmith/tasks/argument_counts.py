"""How many arguments a task hands over, as far as its file shows them one by one."""

from __future__ import annotations

import ast
import warnings

from tilesmith.syntax import parse
from tilesmith.tasks.source import TaskSource


def count_inputs(task: TaskSource) -> int | None:
    """Arguments of `forward`: the elements of the list that `get_inputs` returns; None where some have names."""
    return count_returned(task.text, task.inputs_name)


def count_init_arguments(task: TaskSource) -> int | None:
    """Arguments of the constructor; None where they cannot be counted.

    A list or a dict among them may stand for several; where the function is missing, only Model tells.
    """
    if task.init_name is None:
        return None
    return count_returned(task.text, task.init_name, plain=True)


def count_returned(text: str, function: str, plain: bool = False) -> int | None:
    """Elements of the one list a function returns; with `plain`, only if none of them is a container."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parse(text)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    returns = [node for f in found for node in ast.walk(f) if isinstance(node, ast.Return)]
    if len(found) != 1 or len(returns) != 1 or not isinstance(returns[0].value, (ast.List, ast.Tuple)):
        return None
    elements = returns[0].value.elts
    is_pair = isinstance(returns[0].value, ast.Tuple) and len(elements) == 2
    if is_pair and not (isinstance(elements[0], ast.Call) and isinstance(elements[1], ast.Call)):
        return None  # it may be (args, kwargs)
    doubtful = (ast.Starred, ast.List, ast.Tuple, ast.Dict) if plain else ast.Starred
    if any(isinstance(element, doubtful) for element in elements):
        return None
    return len(elements)
