"""Shapes, axes and unrolled loops take constants only, and the shapes of blocks must match."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.certain_compilation import STATIC_RANGE, static_turns
from tilesmith.lint.model.device.operations import literal_int
from tilesmith.lint.model.device.values import Dim, Shape, ValueKind
from tilesmith.lint.model.sizes.possible_numbers import device_numbers
from tilesmith.lint.model.source import JitFunction, KernelSource, LanguageCall
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.rules.findings import argument, compile_fault, warning
from tilesmith.lint.structure.device_flow.compile_time import (
    is_fraction,
    is_runtime,
    may_be_one,
    shape_sides,
    sizes,
)
from tilesmith.lint.vocabulary import REDUCTIONS, SCANS, words
from tilesmith.records import Finding

RULE = "constexpr-misuse"


def misused_constants(source: KernelSource) -> Iterator[Finding]:
    """A run-time value in a shape, an unrolled loop or an axis; a constant bound twice."""
    for function in source.jit_functions:
        yield from _runtime_sides(source, function)
        yield from _runtime_turns(source, function)
        yield from _runtime_axes(source, function)
        yield from _bound_twice(source, function)
        for call in function.calls:
            if call.name not in ("zeros", "full"):
                continue
            shape = argument(call.node, 0, "shape")
            if shape is not None and device_numbers(source, function, shape) is not None:
                text = ast.unparse(shape)
                message = f"the shape of tl.{call.name} is a tuple, and {text} is a number: write ({text},)"
                yield compile_fault(source, RULE, call.node, message)


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


def _runtime_turns(source: KernelSource, function: JitFunction) -> Iterator[Finding]:
    for call in function.calls:
        if call.name != "static_range":
            continue
        for bound in all_arguments(call.node):
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


WITH_AXIS = words("sum max min argmax argmin xor_sum cumsum cumprod")
ELEMENTWISE = (ast.BinOp, ast.Compare)


def mismatched_shapes(source: KernelSource) -> Iterator[Finding]:
    """What no value of the sizes could make right."""
    for function in source.jit_functions:
        for call in function.calls:
            if message := _wrong_axis(function, call) or _wrong_mask(source, function, call):
                yield compile_fault(source, RULE, call.node, message)
        for node in function.nodes:
            if isinstance(node, ELEMENTWISE) and (message := _incompatible(source, function, node)):
                yield compile_fault(source, RULE, node, message)


def _wrong_axis(function: JitFunction, call: LanguageCall) -> str | None:
    if not call.node.args:
        return None
    value = function.value(call.node.args[0])
    if (
        call.name == "trans"
        and len(call.node.args) == 1
        and value.kind is ValueKind.TENSOR
        and value.rank in (0, 1)
    ):
        return "tl.trans needs a block with two axes: a single axis has nothing to swap"
    axis = literal_int(argument(call.node, 1, "axis")) if call.name in WITH_AXIS else None
    if axis is None or value.kind is not ValueKind.TENSOR or not value.shape:
        return None
    rank = len(value.shape)
    if -rank <= axis < rank:
        return None
    return f"tl.{call.name} over axis {axis} of a block with {rank}: its axes are 0 to {rank - 1}"


def _wrong_mask(source: KernelSource, function: JitFunction, call: LanguageCall) -> str | None:
    """Larger than the address, or of other sides."""
    if call.name not in ("load", "store") or not call.node.args:
        return None
    pointer = function.value(call.node.args[0])
    mask = argument(call.node, 1 if call.name == "load" else 2, "mask")
    if mask is None or not function.value(mask).is_block:
        return None
    text = ast.unparse(mask)[:60]
    if pointer.is_scalar:
        return f"the mask {text} is a block, but the address is a single one: add the block of offsets to it"
    if clash := _clash_of(source, function, pointer.shape, function.value(mask).shape):
        return f"the address and its mask {text} have sides of {clash}: their shapes must match"
    return None


def _incompatible(source: KernelSource, function: JitFunction, node: ast.BinOp | ast.Compare) -> str | None:
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
    shapes = [value.shape for value in map(function.value, sides) if value.is_block]
    clash = _clash_of(source, function, *shapes) if len(shapes) == 2 else None
    return (
        f"blocks with sides of {clash} meet in `{ast.unparse(node)[:60]}`: their shapes must match"
        if clash
        else None
    )


def _clash_of(source: KernelSource, function: JitFunction, one: Shape, other: Shape) -> str | None:
    """The first pair of sides, from the last axis on, that no broadcast joins."""
    pairs = zip(reversed(one or ()), reversed(other or ()), strict=False)
    return next((clash for a, b in pairs if (clash := _clash(source, function, a, b))), None)


def _clash(source: KernelSource, function: JitFunction, one: Dim, other: Dim) -> str | None:
    if one is None or other is None or one == other or 1 in (one, other):
        return None
    lengths, others = sizes(source, function, one), sizes(source, function, other)
    if lengths is None or others is None or lengths & others or 1 in lengths | others:
        return None
    return f"{min(lengths)} and {min(others)}"


def constexpr_misuse(source: KernelSource) -> Iterator[Finding]:
    """Run-time values where constants are needed, and shapes that do not match."""
    yield from misused_constants(source)
    yield from mismatched_shapes(source)
