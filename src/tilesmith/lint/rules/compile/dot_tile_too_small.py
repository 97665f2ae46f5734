"""`tl.dot` on tiles smaller than the tensor cores' own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.values import DeviceValue, ValueKind
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.rules.findings import argument, compile_fault, warning
from tilesmith.lint.structure.device_flow.compile_time import sizes
from tilesmith.records import Finding

RULE = "dot-tile-too-small"
SHORTEST = 16
"""What every release takes on every side."""
FLOATS = frozenset({"float16", "bfloat16", "float32"})
LEAST_K = {"float16": 16, "bfloat16": 16, "int8": 32, "uint8": 32, "float64": 4}
LEAST_K_OTHERWISE = 8
"""The shortest reduction that the newest release takes, in 32 bits."""
PAD = "use a tile of at least 16 and mask the rest, or multiply and tl.sum instead"


def dot_tile_too_small(source: KernelSource) -> Iterator[Finding]:
    """Too short a reduction fails everywhere; fewer than 16 rows or columns only in older releases."""
    for function in source.jit_functions:
        for call in function.calls:
            if call.name == "dot":
                yield from _look_at(source, function, call.node)


def _look_at(source: KernelSource, function: JitFunction, call: ast.Call) -> Iterator[Finding]:
    operands = [argument(call, 0, "input"), argument(call, 1, "other")]
    left, right = (DeviceValue() if operand is None else function.value(operand) for operand in operands)
    sides = [left.shape[-1] if left.shape and _is_matrix(left) else None]
    sides += [right.shape[-2] if right.shape and _is_matrix(right) else None]
    depths = [depth for side in sides if (depth := sizes(source, function, side)) is not None]
    least = LEAST_K.get(left.dtype) or LEAST_K.get(right.dtype) or LEAST_K_OTHERWISE
    if complaint := _mismatch(left, right) or _disagreement(depths) or _short(depths, least):
        yield compile_fault(source, RULE, call, complaint)
    elif depths and min(depths[0]) < SHORTEST:
        message = f"tl.dot over K = {min(depths[0])} is shorter than most releases take (16): {PAD}"
        yield warning(RULE, call.lineno, message)
    else:
        yield from _narrow(source, function, call, left, right)


def _disagreement(depths: list[frozenset[int]]) -> str | None:
    if len(depths) < 2 or depths[0] & depths[1]:
        return None
    return f"tl.dot sums over K = {min(depths[0])} on the left and {min(depths[1])} on the right: they must agree"


def _short(depths: list[frozenset[int]], least: int) -> str | None:
    if not depths or max(depths[0]) >= least:
        return None
    return f"tl.dot over K = {max(depths[0])} is shorter than any release takes ({least}): {PAD}"


def _mismatch(left: DeviceValue, right: DeviceValue) -> str | None:
    """What no tile size can mend."""
    for value in (left, right):
        if value.kind is ValueKind.TENSOR and value.shape is not None and len(value.shape) < 2:
            return (
                "tl.dot multiplies matrices, and one operand has fewer than two axes: multiply and tl.sum instead"
            )
    if left.dtype in FLOATS and right.dtype in FLOATS and left.dtype != right.dtype:
        return f"tl.dot needs operands of one type, not {left.dtype} and {right.dtype}: convert one with .to(...)"
    return None


def _narrow(
    source: KernelSource, function: JitFunction, call: ast.Call, left: DeviceValue, right: DeviceValue
) -> Iterator[Finding]:
    rows = sizes(source, function, left.shape[-2]) if left.shape and _is_matrix(left) else None
    columns = sizes(source, function, right.shape[-1]) if right.shape and _is_matrix(right) else None
    for side, numbers in (("M", rows), ("N", columns)):
        if numbers is not None and min(numbers) < SHORTEST:
            message = f"tl.dot with {side} = {min(numbers)} is refused by releases before 3.3: {PAD}"
            yield warning(RULE, call.lineno, message)
            return


def _is_matrix(value: DeviceValue) -> bool:
    return value.shape is not None and len(value.shape) >= 2
