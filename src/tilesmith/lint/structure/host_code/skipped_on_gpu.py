"""Host code that a run on a GPU with Triton never takes: for the CPU, for a missing Triton, for a failure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tilesmith.lint.model.source import HostCode, KernelSource

ALWAYS_TRUE = frozenset({"is_cuda", "is_available"})
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def skipped_on_gpu(source: KernelSource, host: HostCode) -> list[ast.AST]:
    """The statements and expressions of a function that stand on such a side path."""
    choices = [node for node in source.syntax.inside(host.node) if isinstance(node, ast.IfExp)]
    return [*_aside(source, host.node.body), *(part for c in choices for part in _other_branch(source, c))]


def _aside(source: KernelSource, statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    for position, statement in enumerate(statements):
        match statement:
            case ast.If():
                known = on_gpu(source, statement.test)
                yield from _branch(source, statement.body, taken=known is not False)
                yield from _branch(source, statement.orelse, taken=known is not True)
                certain = {True: statement.body, False: statement.orelse}.get(known) if known is not None else None
                if certain and isinstance(certain[-1], LEAVES):
                    yield from statements[position + 1 :]
                    return
            case ast.Try():
                yield from (part for handler in statement.handlers for part in handler.body)
                for part in (statement.body, statement.orelse, statement.finalbody):
                    yield from _aside(source, part)
            case ast.For() | ast.While() | ast.With() | ast.AsyncWith() | ast.AsyncFor():
                yield from _aside(source, statement.body)


def _branch(source: KernelSource, statements: list[ast.stmt], *, taken: bool) -> Iterator[ast.AST]:
    yield from _aside(source, statements) if taken else statements


def _other_branch(source: KernelSource, choice: ast.IfExp) -> list[ast.AST]:
    known = on_gpu(source, choice.test)
    return [] if known is None else [choice.orelse if known else choice.body]


def on_gpu(source: KernelSource, test: ast.expr) -> bool | None:
    """What a test says where there are a GPU and Triton; None when that does not decide it.

    Beside a check of the device other conditions are taken as met: they name the inputs the kernel is made for.
    """
    match test:
        case ast.UnaryOp(op=ast.Not()):
            inner = on_gpu(source, test.operand)
            return None if inner is None else not inner
        case ast.BoolOp():
            parts = {on_gpu(source, part) for part in test.values}
            first, second = (True, False) if isinstance(test.op, ast.Or) else (False, True)
            return first if first in parts else second if second in parts else None
        case ast.Attribute(attr=name) | ast.Call(func=ast.Attribute(attr=name)) if name in ALWAYS_TRUE:
            return True
        case ast.Attribute(attr="is_cpu"):
            return False
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=value)]):
            return _compared(source, left, op, value)
        case ast.Name(id=name):
            return _import_flag(source, name)
    return None


def _compared(source: KernelSource, left: ast.expr, op: ast.cmpop, value: object) -> bool | None:
    equal = {ast.Eq: True, ast.Is: True, ast.NotEq: False, ast.IsNot: False}.get(type(op))
    if equal is None:
        return None
    if value in ("cuda", "cpu") and _is_device(left):
        return (value == "cuda") == equal
    if value is None and _is_triton(source, left):
        return not equal
    return None


def _is_device(expression: ast.expr) -> bool:
    match expression:
        case ast.Attribute(attr="device") | ast.Attribute(value=ast.Attribute(attr="device"), attr="type"):
            return True
        case ast.Attribute(value=ast.Name(), attr="type"):
            return True
    return False


def _is_triton(source: KernelSource, expression: ast.expr) -> bool:
    """`triton`, or a kernel whose definition may have failed."""
    if isinstance(expression, ast.Name) and source.jit_named(expression.id):
        return True
    return (source.dotted(expression) or "").partition(".")[0] == "triton"


def _import_flag(source: KernelSource, name: str) -> bool | None:
    """`HAS_TRITON = True` in a `try` at module level that is False when an import fails."""
    for statement in source.syntax.tree.body:
        if isinstance(statement, ast.Try) and statement.handlers:
            for inner in (*statement.body, *statement.orelse):
                match inner:
                    case ast.Assign(targets=[ast.Name(id=target)], value=ast.Constant(value=bool() as value)):
                        if target == name:
                            return value
    return None
