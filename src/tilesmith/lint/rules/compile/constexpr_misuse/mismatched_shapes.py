"""Shapes that do not fit: axes a block does not have, sides that do not match, masks larger than pointers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.operations import literal_int
from tilesmith.lint.model.device.values import Dim, Shape, ValueKind
from tilesmith.lint.model.source import JitFunction, KernelSource, LanguageCall
from tilesmith.lint.rules.findings import argument, compile_fault
from tilesmith.lint.structure.device_flow.compile_time import sizes
from tilesmith.lint.vocabulary import words
from tilesmith.records import Finding

RULE = "constexpr-misuse"
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
