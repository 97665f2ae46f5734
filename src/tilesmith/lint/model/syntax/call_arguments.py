"""The arguments of a call and the parameters of a function, as they are written."""

from __future__ import annotations

import ast
from collections.abc import Sequence

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """By position or keyword; None when absent or hidden behind a star."""
    before = call.args[: position + 1]
    if len(before) > position and not any(isinstance(part, ast.Starred) for part in before):
        return before[position]
    return keyword(call, name)


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((given.value for given in call.keywords if given.arg == name), None)


def all_arguments(call: ast.Call) -> list[ast.expr]:
    """Those by position, then those by name."""
    return [*call.args, *(given.value for given in call.keywords)]


def hides_arguments(call: ast.Call) -> bool:
    """Some stand behind a star."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def arguments_by_name(params: Sequence[str], call: ast.Call) -> dict[str, ast.expr]:
    """Arguments by parameter, as far as no star hides them."""
    return dict(zip(params, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}


def parameters(function: FunctionNode) -> list[str]:
    given = function.args
    return [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def defaults(function: FunctionNode) -> dict[str, ast.expr]:
    """By parameter."""
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    pairs = [
        *zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    return {argument.arg: value for argument, value in pairs if value is not None}


def is_none(node: ast.AST | None) -> bool:
    """`None` written out."""
    return isinstance(node, ast.Constant) and node.value is None


def last_name(expression: ast.AST) -> str:
    """`c` of `a.b.c`; empty for what is no name."""
    if isinstance(expression, ast.Name):
        return expression.id
    return expression.attr if isinstance(expression, ast.Attribute) else ""
