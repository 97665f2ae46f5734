"""Constants where only constants will do: shapes, unrolled loops, axes, and names annotated as constexpr."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.certain_compilation import STATIC_RANGE, static_turns
from tilesmith.lint.model.sizes.possible_numbers import device_numbers
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.rules.findings import argument, compile_fault, warning
from tilesmith.lint.structure.device_flow.compile_time import is_fraction, is_runtime, may_be_one, shape_sides
from tilesmith.lint.vocabulary import REDUCTIONS, SCANS
from tilesmith.records import Finding

RULE = "constexpr-misuse"


def misused_constants(source: KernelSource) -> Iterator[Finding]:
    """A run-time value in a shape, an unrolled loop or an axis; a constant bound twice."""
    for function in source.jit_functions:
        yield from _runtime_sides(source, function)
        yield from _runtime_turns(source, function)
        yield from _runtime_axes(source, function)
        yield from _bound_twice(source, function)
        yield from _bare_shapes(source, function)


def _runtime_sides(source: KernelSource, function: JitFunction) -> Iterator[Finding]:
    for call, side in shape_sides(function):
        if is_fraction(side):
            message = f"a block's side is a whole number, but {ast.unparse(side)} is a fraction: divide with //"
            yield compile_fault(source, RULE, call, message)
        elif is_runtime(source, function, side):
            message = (
                f"a block's shape must be known to the compiler, but {ast.unparse(side)} is a run-time value: "
                "make it a tl.constexpr parameter, or bind it as `name: tl.constexpr = ...`"
            )
            yield compile_fault(source, RULE, call, message)


def _bare_shapes(source: KernelSource, function: JitFunction) -> Iterator[Finding]:
    for call in function.calls:
        if call.name not in ("zeros", "full"):
            continue
        shape = argument(call.node, 0, "shape")
        if shape is not None and device_numbers(source, function, shape) is not None:
            text = ast.unparse(shape)
            message = f"the shape of tl.{call.name} is a tuple, and {text} is a number: write ({text},)"
            yield compile_fault(source, RULE, call.node, message)


def _runtime_turns(source: KernelSource, function: JitFunction) -> Iterator[Finding]:
    for call in function.calls:
        if call.name != "static_range":
            continue
        for bound in [*call.node.args, *(keyword.value for keyword in call.node.keywords)]:
            if is_runtime(source, function, bound):
                message = (
                    f"tl.static_range is unrolled by the compiler, but {ast.unparse(bound)} is a run-time value: "
                    "use range, or make the bound a tl.constexpr"
                )
                if may_be_one(source, function, bound):
                    yield warning(RULE, call.line, f"{message} (it works only where every launch passes 1)")
                else:
                    yield compile_fault(source, RULE, call.node, message)


def _runtime_axes(source: KernelSource, function: JitFunction) -> Iterator[Finding]:
    for call in function.calls:
        if call.name in REDUCTIONS | SCANS:
            axis = argument(call.node, 1, "axis")
            if axis is not None and is_runtime(source, function, axis):
                message = (
                    f"the axis of tl.{call.name} must be a constant, but {ast.unparse(axis)} is a run-time value"
                )
                yield compile_fault(source, RULE, call.node, message)


def _bound_twice(source: KernelSource, function: JitFunction) -> Iterator[Finding]:
    for node in function.nodes:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name) or node.value is None:
            continue
        if not (source.dotted(node.annotation) or "").endswith("constexpr"):
            continue
        if node.target.id in function.params:
            message = f"{node.target.id} is a parameter already, and a constexpr cannot be bound again: rename it"
            yield compile_fault(source, RULE, node, message)
        elif loop := _unrolled_around(source, function, node):
            message = (
                f"every turn of tl.static_range binds the constexpr {node.target.id} again, which Triton refuses: "
                "move it in front of the loop"
            )
            certain = len(static_turns(loop)) > 1
            yield compile_fault(source, RULE, node, message) if certain else warning(RULE, node.lineno, message)


def _unrolled_around(source: KernelSource, function: JitFunction, node: ast.stmt) -> ast.For | None:
    """The innermost loop, where that is an unrolled one: a device loop forgets the names of its turns."""
    around = function.loops_around(node)
    if not around or not isinstance(around[-1].node, ast.For):
        return None
    loop = around[-1].node
    called = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    return loop if called is not None and source.dotted(called) == STATIC_RANGE else None
