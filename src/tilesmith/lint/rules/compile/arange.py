"""`tl.arange` needs bounds the compiler knows, a power of two apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.operations import literal_int
from tilesmith.lint.model.source import JitFunction, KernelSource, Launch
from tilesmith.lint.rules.findings import argument, compile_fault
from tilesmith.records import Finding


def arange_not_power_of_two(source: KernelSource) -> Iterator[Finding]:
    """Literal bounds whose distance is no power of two: the compiler refuses them."""
    for function in source.jit_functions:
        for call in _aranges(function):
            start, end = (literal_int(argument(call, i, name)) for i, name in enumerate(("start", "end")))
            if start is not None and end is not None and not _is_power_of_two(end - start):
                message = (
                    f"tl.arange({start}, {end}) spans {end - start} elements, which is not a power of two: "
                    "round up with triton.next_power_of_2 and mask the rest"
                )
                yield compile_fault(source, "arange-not-power-of-two", call, message)


def arange_runtime_bound(source: KernelSource) -> Iterator[Finding]:
    """A bound that is a run-time parameter of a kernel launched from the host."""
    called = {name for function in source.jit_functions for name in function.callees}
    if _makes_constants(source):
        return
    for function in source.kernels:
        plain = set(function.params) - function.constexprs if function.name not in called else set()
        for call in _aranges(function):
            for bound in (argument(call, 0, "start"), argument(call, 1, "end")):
                if isinstance(bound, ast.Name) and bound.id in plain and _is_runtime(bound.id, function, source):
                    message = (
                        f"tl.arange needs compile-time bounds, but {bound.id} is a run-time parameter: "
                        f"annotate it `{bound.id}: tl.constexpr` and pass a power of two"
                    )
                    yield compile_fault(source, "arange-runtime-bound", call, message)


def _aranges(function: JitFunction) -> list[ast.Call]:
    return [call.node for call in function.calls if call.name == "arange"]


def _is_power_of_two(span: int) -> bool:
    return span > 0 and span & (span - 1) == 0


def _makes_constants(source: KernelSource) -> bool:
    """`tl.constexpr(64)` in host code may reach a plain parameter and make it a constant after all."""
    calls = [node for node in source.syntax.nodes if isinstance(node, ast.Call)]
    return any(source.dotted(call.func) == "triton.language.constexpr" for call in calls)


def _is_runtime(name: str, function: JitFunction, source: KernelSource) -> bool:
    """A parameter that stays a value; Triton makes a constant of an argument that is 1 or None."""
    if name in function.flow.by_name:
        return False
    position = function.params.index(name)
    launches = [launch for launch in source.launches if function.name in launch.kernels]
    return not any(_may_pass_constant(launch, position, name) for launch in launches)


def _may_pass_constant(launch: Launch, position: int, name: str) -> bool:
    starred = any(isinstance(arg, ast.Starred) for arg in launch.node.args)
    unpacked = any(keyword.arg is None for keyword in launch.node.keywords)
    passed = argument(launch.node, position, name)
    return starred or unpacked or passed is None or isinstance(passed, ast.Constant)
