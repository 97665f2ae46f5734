"""Which parts of an expression or statement of host code are certain, and which tests a GPU decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.vocabulary import words

HARMLESS = words(
    """
    staticmethod classmethod property no_grad inference_mode enable_grad lru_cache cache cached_property compile
    disable ignore unused export custom_fwd custom_bwd once_differentiable override final overload
    """
)
"""Decorators whose function still does what is written in it when it is called."""
GENERATING = (ast.Yield, ast.YieldFrom)


def runs_as_written(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Not what a decorator of the author's makes of it, and no generator, which waits to be asked."""
    called = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    if isinstance(function, ast.AsyncFunctionDef) or any(isinstance(n, GENERATING) for n in ast.walk(function)):
        return False
    return all(_tail(decorator) in HARMLESS or _path(decorator) == "torch.fx.wrap" for decorator in called)


def may_suppress_exceptions(context: ast.expr) -> bool:
    """`with suppress(Exception):`, or a context manager that may do the same."""
    return isinstance(context, ast.Call) and _tail(context.func) in ("suppress", "raises", "ExitStack")


def _path(expression: ast.expr) -> str:
    return (
        f"{_path(expression.value)}.{expression.attr}"
        if isinstance(expression, ast.Attribute)
        else _tail(expression)
    )


def _tail(expression: ast.expr) -> str:
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")


def certain_parts(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return
        case ast.IfExp():
            yield node.test
        case ast.BoolOp():
            yield node.values[0]
        case ast.Compare():
            yield from (node.left, node.comparators[0])
        case _:
            yield from ast.iter_child_nodes(node)


def leaves(statement: ast.stmt, ways: tuple[type[ast.stmt], ...]) -> bool:
    return any(isinstance(node, ways) for node in ast.walk(statement))


def outcome(test: ast.expr) -> bool | None:
    """The tests whose outcome a GPU decides; None for all others."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            inner = outcome(test.operand)
            return None if inner is None else not inner
        case ast.Attribute(attr="is_cuda"):
            return True
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(attr="cuda") | ast.Name(id="cuda"), attr="is_available")
        ):
            return True
        case ast.Compare(ops=[op], comparators=[ast.Constant(value="cuda" | "cpu" as device)]):
            certain = device == "cpu" or (isinstance(test.left, ast.Attribute) and test.left.attr == "type")
            if isinstance(op, (ast.Eq, ast.NotEq)) and certain and "device" in ast.dump(test.left):
                return (device == "cuda") == isinstance(op, ast.Eq)
        case ast.Name(id="TYPE_CHECKING"):
            return False
    return None
