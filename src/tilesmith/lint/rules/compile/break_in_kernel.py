"""Triton's compiler knows no `break` and no `continue`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import compile_fault
from tilesmith.records import Finding

WORDS = {ast.Break: "break", ast.Continue: "continue"}


def break_in_kernel(source: KernelSource) -> Iterator[Finding]:
    """`break` and `continue` have no visitor in any release, in any kind of loop."""
    for function in source.jit_functions:
        for node in function.nodes:
            if isinstance(node, (ast.Break, ast.Continue)):
                message = (
                    f"Triton cannot compile `{WORDS[type(node)]}`: put the condition into the loop's bounds, "
                    "into a `while` test, or into masks"
                )
                yield compile_fault(source, "break-in-kernel", node, message)
