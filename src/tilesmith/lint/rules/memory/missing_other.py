"""Masked loads whose empty lanes disturb the reduction they run into."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tilesmith.lint.model.device.operations import literal
from tilesmith.lint.model.device.values import Dim
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.lint.rules.findings import info, warning
from tilesmith.lint.structure.addresses.buffers import buffers
from tilesmith.lint.structure.device_flow.reaching_definitions import reaching
from tilesmith.lint.structure.host_code.host_tensors import HostTensors
from tilesmith.lint.structure.launches.launch_arguments import arguments
from tilesmith.lint.structure.tiles.masked_lanes import LaneFill, LaneFills
from tilesmith.lint.vocabulary import words
from tilesmith.records import Finding, Severity

RULE = "missing-other"
NEUTRAL = {"max": '-float("inf")', "argmax": '-float("inf")', "min": 'float("inf")', "argmin": 'float("inf")'}
NEUTRAL["softmax"] = NEUTRAL["max"]
UNDEFINED = "lanes outside the mask are undefined without other=: write other=0.0 before a sum"
NEVER_NEGATIVE = words("abs exp exp2 sigmoid sqrt zeros zeros_like")
DEEPEST_LOOK = 12


class ReductionUse(NamedTuple):
    kind: str
    node: ast.Call
    tile: ast.expr
    axes: list[Dim]
    """Widths of the axes it runs along."""


def missing_other(source: KernelSource) -> Iterator[Finding]:
    """One finding per load: a warning where its fill changes a result, else at most a hint."""
    for function in source.jit_functions:
        found: dict[ast.Call, Finding] = {}
        for reduction in _reductions(function):
            for load, finding in _judge(reduction, function, source):
                if load not in found or found[load].severity is Severity.INFO:
                    found[load] = finding
        yield from found.values()


def _judge(r: ReductionUse, function: JitFunction, source: KernelSource) -> Iterator[tuple[ast.Call, Finding]]:
    for axis in r.axes:
        fills = LaneFills(source, function, axis)
        fill = fills.of(r.tile)
        if not fills.loads:
            continue
        load = fills.loads[0]
        if _disturbs(r, fill, load, function) and not (r.kind == "max" and _is_scratch(load, function, source)):
            yield load, warning(RULE, load.lineno, _message(r, load))
        elif fill is LaneFill.ZERO and r.kind == "sum" and argument(load, 2, "other") is None:
            yield load, info(RULE, load.lineno, UNDEFINED)


def _disturbs(r: ReductionUse, fill: LaneFill, load: ast.Call, function: JitFunction) -> bool:
    if r.kind == "sum":
        return fill is LaneFill.OTHER
    if r.kind in ("max", "argmax", "softmax"):
        given = argument(load, 2, "other")
        whole = isinstance(given, ast.Constant) and type(given.value) is int  # ids and counts are never negative
        return fill is LaneFill.ZERO and not whole and not _is_never_negative(r.tile, function)
    return fill is LaneFill.ZERO


def _is_scratch(load: ast.Call, function: JitFunction, source: KernelSource) -> bool:
    """A fill written out, for numbers that an earlier kernel left in memory made for them: its author knew both."""
    bases = buffers(function, load.args[0]) if load.args and argument(load, 2, "other") else ()
    passed = [argument for base in bases for argument in arguments(source, function, base)]
    return any(p.host is not None and HostTensors(source, p.host).made(p.node).fresh for p in passed)


def _message(r: ReductionUse, load: ast.Call) -> str:
    held = "are undefined (usually 0)" if argument(load, 2, "other") is None else "hold the fill of this load"
    if r.kind == "sum":
        return f"masked lanes {held} and add to the sum on line {r.node.lineno}: tl.where(mask, ..., 0.0) before it"
    return (
        f"masked lanes {held} and can win the {r.kind} on line {r.node.lineno}: "
        f"load with other={NEUTRAL[r.kind]}, or tl.where before it"
    )


def _reductions(function: JitFunction) -> Iterator[ReductionUse]:
    for call in function.calls:
        if call.name in ("sum", *NEUTRAL) and (tile := argument(call.node, 0, "input")) is not None:
            yield ReductionUse(call.name, call.node, tile, _axes(call.node, 1, tile, function))
    for node in function.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, tile = node.func.attr, node.func.value
            if name in ("sum", "max", "min", "argmax", "argmin") and function.value(tile).is_block:
                yield ReductionUse(name, node, tile, _axes(node, 0, tile, function))


def _axes(call: ast.Call, position: int, tile: ast.expr, function: JitFunction) -> list[Dim]:
    shape = function.value(tile).shape
    if not shape:
        return []
    axis = literal(argument(call, position, "axis"))
    if axis is None:
        return [dim for dim in shape if dim is not None and dim != 1]
    if not -len(shape) <= int(axis) < len(shape):
        return []
    dim = shape[int(axis)]
    return [] if dim is None or shape.count(dim) > 1 else [dim]


def _is_never_negative(node: ast.AST, function: JitFunction, depth: int = DEEPEST_LOOK) -> bool:
    """Squares, magnitudes, exponentials, relu and conditions: zero cannot win their maximum."""

    def inner(part: ast.AST) -> bool:
        return depth > 0 and _is_never_negative(part, function, depth - 1)

    match node:
        case ast.Name():
            values = [binding.value for binding in reaching(function.flow, node)]
            return bool(values) and all(inner(value) for value in values)
        case ast.BinOp(op=ast.Mult() | ast.Div() | ast.Add()):
            square = isinstance(node.op, ast.Mult) and ast.dump(node.left) == ast.dump(node.right)
            return square or (inner(node.left) and inner(node.right))
        case ast.Constant(value=int() | float() as number):
            return number >= 0
        case ast.Compare():
            return True
        case ast.Subscript():
            return inner(node.value)
        case ast.Call():
            return _call_is_never_negative(node, function, depth)
    return function.value(node).dtype in ("int1", "uint8")


def _call_is_never_negative(node: ast.Call, function: JitFunction, depth: int) -> bool:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called in NEVER_NEGATIVE:
        return True
    if called == "maximum":
        return depth > 0 and any(_is_never_negative(part, function, depth - 1) for part in node.args)
    method = isinstance(node.func, ast.Attribute) and called in ("to", "cast") and function.value(node.func.value)
    if method and isinstance(node.func, ast.Attribute):
        return depth > 0 and _is_never_negative(node.func.value, function, depth - 1)
    chosen = node.args[1:] if called == "where" else []
    return bool(chosen) and depth > 0 and all(_is_never_negative(p, function, depth - 1) for p in chosen)
