"""How a rule about device code words and weighs what it found."""

from __future__ import annotations

import ast

from tilesmith.lint.source import KernelSource
from tilesmith.records import Finding, Severity


def compile_fault(source: KernelSource, rule: str, node: ast.expr | ast.stmt, message: str) -> Finding:
    """An error where the compiler certainly gets; else a warning, since the code may never be compiled."""
    if node in source.surely_compiled:
        return Finding(rule, Severity.ERROR, node.lineno, message)
    return Finding(rule, Severity.WARNING, node.lineno, f"{message} (fails if this code is compiled)")


def warning(rule: str, line: int | None, message: str) -> Finding:
    return Finding(rule, Severity.WARNING, line, message)


def literal_int(node: ast.expr | None) -> int | None:
    """The value of an integer written out, sign included."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal_int(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    """An argument by position or keyword; None when absent or hidden behind a star."""
    before = call.args[: position + 1]
    if len(before) > position and not any(isinstance(arg, ast.Starred) for arg in before):
        return before[position]
    return next((k.value for k in call.keywords if k.arg == keyword), None)
