"""Triton cannot return out of a device loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.values import ValueKind
from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.rules.findings import compile_fault
from tilesmith.records import Finding


def return_in_loop(source: KernelSource) -> Iterator[Finding]:
    """A `return` under a device loop; where a constant decides whether it is compiled, nothing is said."""
    for function in source.jit_functions:
        for node in function.nodes:
            if isinstance(node, ast.Return) and _leaves_loop(function, node):
                message = (
                    "Triton cannot return out of a `for` or `while`: keep the result in a variable, guard the rest "
                    "of the loop with it, and return after the loop"
                )
                yield compile_fault(source, "return-in-loop", node, message)


def _leaves_loop(function: JitFunction, node: ast.Return) -> bool:
    device = [loop for loop in function.loops_around(node) if not loop.static and _is_read(loop)]
    if not device:
        return False
    above = function.flow.syntax.ancestors(node)
    tests = [part.test for part in above if isinstance(part, ast.If)]
    return not any(function.value(test).kind is ValueKind.STATIC for test in tests)


def _is_read(loop: KernelLoop) -> bool:
    """Not a loop over something Triton does not iterate over anyway."""
    return isinstance(loop.node, ast.While) or isinstance(loop.node.iter, ast.Call)
