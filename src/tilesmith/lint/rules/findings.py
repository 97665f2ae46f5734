"""How a rule words and weighs what it found."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import wraps

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.model.syntax.call_arguments import argument as argument
from tilesmith.records import Finding, Severity

Rule = Callable[[KernelSource], Iterable[Finding]]


def compile_fault(source: KernelSource, rule: str, node: ast.expr | ast.stmt, message: str) -> Finding:
    """An error where the compiler certainly gets; else a warning, since the code may never be compiled."""
    if node in source.surely_compiled:
        return Finding(rule, Severity.ERROR, node.lineno, message)
    return Finding(rule, Severity.WARNING, node.lineno, f"{message} (fails if this code is compiled)")


def run_fault(source: KernelSource, rule: str, node: ast.expr | ast.stmt, message: str) -> Finding:
    """An error in host code that certainly runs; else a warning."""
    if node in source.surely_run:
        return Finding(rule, Severity.ERROR, node.lineno, message)
    return Finding(rule, Severity.WARNING, node.lineno, f"{message} (fails if this code runs)")


def warning(rule: str, line: int | None, message: str) -> Finding:
    return Finding(rule, Severity.WARNING, line, message)


def info(rule: str, line: int | None, message: str) -> Finding:
    return Finding(rule, Severity.INFO, line, message)


def first_on_each_line(rule: Rule) -> Rule:
    """Of several findings on one line the first is said."""

    @wraps(rule)
    def said(source: KernelSource) -> Iterator[Finding]:
        found: dict[int | None, Finding] = {}
        for finding in rule(source):
            found.setdefault(finding.line, finding)
        yield from found.values()

    return said
