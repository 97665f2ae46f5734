"""A variable keeps its type: what a loop or a run-time branch leaves in it has the same shape and kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.inference import ValueChange
from tilesmith.lint.model.device.values import DeviceValue, ValueKind
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.rules.findings import compile_fault, warning
from tilesmith.records import Finding

RULE = "python-in-kernel"
WHOLE = DeviceValue(ValueKind.TENSOR, (), "int32")
LONGEST_CHAIN = 8
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


def changed_types(source: KernelSource) -> Iterator[Finding]:
    """`acc = 0` before a loop that adds blocks to it, or numbers with a fraction."""
    for function in source.jit_functions:
        for region, changes in function.changes.items():
            for change in changes:
                if message := _complaint(change):
                    yield compile_fault(source, RULE, region, message)
                elif _turns_to_float(function, region, change):
                    message = (
                        f"{change.name} starts as a whole number and is given loaded values: start it with 0.0"
                    )
                    yield warning(RULE, region.lineno, f"{message}, or Triton refuses to change its type")


def _complaint(change: ValueChange) -> str | None:
    before, after = change.before, change.after
    if before.kind is not ValueKind.TENSOR or after.kind is not ValueKind.TENSOR:
        return None
    if before.shape is not None and after.shape is not None and len(before.shape) != len(after.shape):
        return (
            f"{change.name} is {_size(before)} before, and becomes {_size(after)} here, which Triton refuses: "
            f"start it as a block of that shape, with tl.zeros"
        )
    if before.dtype == "int32" and after.dtype in FLOATS and before.shape == after.shape == ():
        becomes = f"{change.name} starts as a whole number and becomes {after.dtype}"
        return f"{becomes}, which Triton refuses: start it with 0.0"
    return None


def _size(value: DeviceValue) -> str:
    return "a single value" if not value.shape else f"a block of rank {len(value.shape)}"


def _turns_to_float(function: JitFunction, region: ast.stmt, change: ValueChange) -> bool:
    """`total += tl.sum(x)` where total starts as 0 and x was loaded with `other=0.0`."""
    if change.before != WHOLE or change.after.dtype or change.after.kind is not ValueKind.TENSOR:
        return False
    syntax = function.flow.syntax
    values = [b.value for b in function.flow.by_name.get(change.name, ()) if syntax.contains(region, b.value)]
    added = [value.value for value in values if isinstance(value, ast.AugAssign)]
    return any(_is_loaded_fraction(function, value, LONGEST_CHAIN) for value in added)


def _is_loaded_fraction(function: JitFunction, value: ast.AST, depth: int) -> bool:
    if depth == 0:
        return False
    match value:
        case ast.Name(id=name):
            behind = function.flow.values_of(name)
            return bool(behind) and all(_is_loaded_fraction(function, part, depth - 1) for part in behind)
        case ast.BinOp(op=ast.Mult() | ast.Add() | ast.Sub()):
            return any(_is_loaded_fraction(function, side, depth - 1) for side in (value.left, value.right))
        case ast.Call():
            called = next((call.name for call in function.calls if call.node is value), "")
            if called in ("sum", "max", "min") and value.args:
                return _is_loaded_fraction(function, value.args[0], depth - 1)
            fills = [keyword.value for keyword in value.keywords if keyword.arg == "other"]
            return called == "load" and any(
                isinstance(f, ast.Constant) and isinstance(f.value, float) for f in fills
            )
    return False
