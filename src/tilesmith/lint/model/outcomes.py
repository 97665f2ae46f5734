"""Which parts of an expression or statement of host code are certain, and which tests a GPU decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def certain_parts(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return
        case ast.IfExp():
            yield node.test
        case ast.BoolOp():
            yield node.values[0]
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
            if isinstance(op, (ast.Eq, ast.NotEq)) and "device" in ast.dump(test.left):
                return (device == "cuda") == isinstance(op, ast.Eq)
        case ast.Name(id="TYPE_CHECKING"):
            return False
    return None
