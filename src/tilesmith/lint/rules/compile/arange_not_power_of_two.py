"""The sides of blocks must be powers of two."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.sizes.possible_numbers import device_numbers
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.rules.findings import argument, compile_fault, warning
from tilesmith.lint.structure.device_flow.compile_time import is_runtime, shape_sides
from tilesmith.records import Finding

ROUND_UP = "round up with triton.next_power_of_2 and mask the rest"


def arange_not_power_of_two(source: KernelSource) -> Iterator[Finding]:
    """A range or a side of a block whose every possible length is no power of two; a warning if only some are.

    Zero says that the block is not used in that launch.
    """
    for function in source.jit_functions:
        for call, lengths in _lengths(source, function):
            bad = sorted(length for length in lengths if length and not (length > 0 and length & (length - 1) == 0))
            if bad:
                values = ", ".join(map(str, bad[:3]))
                message = f"{ast.unparse(call)} has a side of {values}, which is not a power of two: {ROUND_UP}"
                if len(bad) < len(lengths):
                    yield warning("arange-not-power-of-two", call.lineno, f"for some launches {message}")
                else:
                    yield compile_fault(source, "arange-not-power-of-two", call, message)


def _lengths(source: KernelSource, function: JitFunction) -> Iterator[tuple[ast.Call, frozenset[int]]]:
    for call in (call.node for call in function.calls if call.name == "arange"):
        start, end = argument(call, 0, "start"), argument(call, 1, "end")
        lows = None if start is None else device_numbers(source, function, start)
        highs = None if end is None else device_numbers(source, function, end)
        if lows is None or len(lows) != 1 or highs is None or is_runtime(source, function, end):
            continue
        low = next(iter(lows))
        yield call, frozenset(high - low for high in highs)
    for call, side in shape_sides(function):
        numbers = device_numbers(source, function, side)
        if numbers is not None and not is_runtime(source, function, side):
            yield call, numbers
