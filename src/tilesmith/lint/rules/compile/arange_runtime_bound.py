"""The bounds of `tl.arange` must be whole numbers that the compiler knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.rules.findings import argument, compile_fault
from tilesmith.lint.structure.device_flow.compile_time import is_fraction, is_runtime
from tilesmith.records import Finding


def arange_runtime_bound(source: KernelSource) -> Iterator[Finding]:
    """A bound that is a run-time value, or no whole number."""
    for function in source.jit_functions:
        for call in function.calls:
            if call.name != "arange":
                continue
            for bound in (argument(call.node, 0, "start"), argument(call.node, 1, "end")):
                if message := _complaint(source, function, bound):
                    yield compile_fault(source, "arange-runtime-bound", call.node, message)


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
