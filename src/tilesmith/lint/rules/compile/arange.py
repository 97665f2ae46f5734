"""Sides of blocks need bounds the compiler knows, a power of two apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.constants import device_numbers
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.rules.compile.runtime import is_fraction, is_runtime
from tilesmith.lint.rules.compile.shapes import shaped_sides
from tilesmith.lint.rules.findings import argument, compile_fault, warning
from tilesmith.records import Finding

ROUND_UP = "round up with triton.next_power_of_2 and mask the rest"


def arange_not_power_of_two(source: KernelSource) -> Iterator[Finding]:
    """A range or a side of a block whose every possible length is no power of two; a warning if only some are.

    Zero says that the block is not used in that launch.
    """
    for function in source.jit_functions:
        for call, lengths in _lengths(source, function):
            bad = sorted(length for length in lengths if length and not _is_power_of_two(length))
            if bad:
                values = ", ".join(map(str, bad[:3]))
                message = f"{ast.unparse(call)} has a side of {values}, which is not a power of two: {ROUND_UP}"
                if len(bad) < len(lengths):
                    yield warning("arange-not-power-of-two", call.lineno, f"for some launches {message}")
                else:
                    yield compile_fault(source, "arange-not-power-of-two", call, message)


def _lengths(source: KernelSource, function: JitFunction) -> Iterator[tuple[ast.Call, frozenset[int]]]:
    for call in _aranges(function):
        start, end = argument(call, 0, "start"), argument(call, 1, "end")
        lows = None if start is None else device_numbers(source, function, start)
        highs = None if end is None else device_numbers(source, function, end)
        if lows is None or len(lows) != 1 or highs is None or is_runtime(source, function, end):
            continue
        low = next(iter(lows))
        yield call, frozenset(high - low for high in highs)
    for call, side in shaped_sides(function):
        numbers = device_numbers(source, function, side)
        if numbers is not None and not is_runtime(source, function, side):
            yield call, numbers


def arange_runtime_bound(source: KernelSource) -> Iterator[Finding]:
    """A bound that is a run-time value, or no whole number."""
    for function in source.jit_functions:
        for call in _aranges(function):
            for bound in (argument(call, 0, "start"), argument(call, 1, "end")):
                if message := _complaint(source, function, bound):
                    yield compile_fault(source, "arange-runtime-bound", call, message)


def _complaint(source: KernelSource, function: JitFunction, bound: ast.expr | None) -> str | None:
    if bound is None:
        return None
    if is_fraction(bound) or _is_given_fractions(source, function, bound):
        return f"tl.arange needs whole numbers, but {ast.unparse(bound)} is a fraction: divide with //"
    if not is_runtime(source, function, bound):
        return None
    text = ast.unparse(bound)
    if isinstance(bound, ast.Name) and bound.id in function.params:
        cure = f"annotate it `{text}: tl.constexpr` and pass a power of two"
    elif isinstance(bound, ast.Name):
        cure = f"bind it as `{text}: tl.constexpr = ...` from constants, or write the expression in place"
    else:
        cure = "pass the size as a tl.constexpr parameter, a power of two, and mask the rest"
    return f"tl.arange needs compile-time bounds, but {text} is a run-time value: {cure}"


def _is_given_fractions(source: KernelSource, function: JitFunction, bound: ast.expr) -> bool:
    """A constexpr parameter for which every launch passes something like `n / 2`."""
    if not isinstance(bound, ast.Name) or bound.id not in function.constexprs:
        return False
    given = [launch.bound_to(function) if launch.direct else None for launch in source.launches_of(function)]
    passed = [None if bound_here is None else bound_here.get(bound.id) for bound_here in given]
    return bool(passed) and all(value is not None and is_fraction(value) for value in passed)


def _aranges(function: JitFunction) -> list[ast.Call]:
    return [call.node for call in function.calls if call.name == "arange"]


def _is_power_of_two(length: int) -> bool:
    return length > 0 and length & (length - 1) == 0
