"""Which names of a task file reach its inputs, and which are the first dimension of one.

A shrink plan that touches only these leaves the network as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

SHAPE_MAKERS = {"rand", "randn", "zeros", "ones", "empty", "full", "randint", "normal"}


@dataclass
class InputNames:
    """Names that `get_inputs` depends on, and those that lead a shape."""

    inputs: set[str] = field(default_factory=set)
    leading: set[str] = field(default_factory=set)


def called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def find_leading_sizes(function: ast.AST) -> Iterator[ast.expr]:
    """The expression of the first dimension in every call that makes a tensor."""
    for call in ast.walk(function):
        if not isinstance(call, ast.Call) or called_name(call) not in SHAPE_MAKERS:
            continue
        shapes: list[ast.expr] = [argument for argument in call.args if isinstance(argument, ast.Tuple | ast.List)]
        shapes += [word.value for word in call.keywords if word.arg == "size"]
        first = shapes[0] if shapes else next(iter(call.args), None)
        if isinstance(first, ast.Tuple | ast.List):
            first = next(iter(first.elts), None)
        if isinstance(first, ast.Starred):
            first = first.value
        if first is not None:
            yield first


def find_input_names(tree: ast.Module, inputs_name: str) -> InputNames:
    """Names that reach `get_inputs`, through other constants and functions if need be."""
    reads: dict[str, set[str]] = {}
    functions: dict[str, ast.FunctionDef] = {}
    for statement in tree.body:
        loaded = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if isinstance(statement, ast.FunctionDef):
            functions[statement.name] = statement
            reads[statement.name] = loaded
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                for node in ast.walk(target):
                    if isinstance(node, ast.Name):
                        reads.setdefault(node.id, set()).update(loaded)
    feeds, waiting = InputNames(), [inputs_name]
    while waiting:
        for name in reads.get(waiting.pop(), set()) - feeds.inputs:
            feeds.inputs.add(name)
            waiting.append(name)
    for name in (feeds.inputs & functions.keys()) | ({inputs_name} & functions.keys()):
        for first in find_leading_sizes(functions[name]):
            label = first.id if isinstance(first, ast.Name) else ast.unparse(first)
            feeds.leading.add(label)
            if isinstance(first, ast.Name):
                feeds.leading.add(f"{first.id}[0]")
    return feeds
