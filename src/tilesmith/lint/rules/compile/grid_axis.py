"""A grid is a sequence of one to three whole numbers, and programs know its axes 0, 1 and 2."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.values import ValueKind
from tilesmith.lint.model.sizes.possible_numbers import device_numbers
from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource, LaunchSite
from tilesmith.lint.rules.findings import argument, compile_fault, run_fault, warning
from tilesmith.lint.structure.device_flow.compile_time import is_fraction
from tilesmith.records import Finding

AXES = frozenset({0, 1, 2})
NUMBER_MAKERS = frozenset({"triton.cdiv", "triton.next_power_of_2", "math.ceil", "math.floor", "math.prod"})
RULE = "grid-axis"


def grid_axis(source: KernelSource) -> Iterator[Finding]:
    """Axes no grid has, and grids no launch takes."""
    for function in source.jit_functions:
        yield from _wrong_axes(source, function)
    for launch in source.live_launches:
        if launch.grid is not None and launch.kernels:
            yield from _wrong_grid(source, launch, launch.grid)


def _wrong_axes(source: KernelSource, function: JitFunction) -> Iterator[Finding]:
    for call in function.calls:
        if call.name not in ("program_id", "num_programs"):
            continue
        axis = argument(call.node, 0, "axis")
        numbers = None if axis is None else device_numbers(source, function, axis)
        if axis is not None and function.value(axis).kind is ValueKind.TENSOR:
            message = f"the axis of tl.{call.name} must be a constant, but {ast.unparse(axis)} is a run-time value"
            yield compile_fault(source, RULE, call.node, f"{message}: write 0, 1 or 2")
        elif numbers is not None and not numbers & AXES:
            message = (
                f"a grid has axes 0, 1 and 2, not {min(numbers)}: fold several dimensions into one axis and take "
                "them apart with // and %"
            )
            yield compile_fault(source, RULE, call.node, message)


def _wrong_grid(source: KernelSource, launch: LaunchSite, grid: ast.expr) -> Iterator[Finding]:
    host = source.host_of(launch)
    grid = _followed(grid, host)
    if isinstance(grid, ast.Lambda):
        grid = grid.body
    if _is_number(source, grid, host):
        message = f"a grid is a tuple, and {ast.unparse(grid)} is a number: write ({ast.unparse(grid)},)"
        yield run_fault(source, RULE, launch.node, message)
    elif isinstance(grid, (ast.Tuple, ast.List)):
        yield from _wrong_entries(source, launch, grid)


def _wrong_entries(source: KernelSource, launch: LaunchSite, grid: ast.Tuple | ast.List) -> Iterator[Finding]:
    if any(isinstance(entry, ast.Starred) for entry in grid.elts):
        return
    if not grid.elts:
        yield run_fault(source, RULE, launch.node, "a grid needs at least one entry: write (1,) for one program")
    if len(grid.elts) > len(AXES):
        message = (
            f"a grid has at most three axes; the last {len(grid.elts) - 3} of these {len(grid.elts)} are ignored: "
            "multiply dimensions into one axis and take them apart with // and %"
        )
        yield warning(RULE, grid.lineno, message)
    for entry in grid.elts:
        if is_fraction(entry):
            message = f"a grid counts whole programs, but {ast.unparse(entry)} is a fraction: use triton.cdiv"
            yield run_fault(source, RULE, launch.node, message)


def _followed(grid: ast.expr, host: HostCode | None) -> ast.expr:
    """A name that is bound once, in the function of the launch, stands for its value."""
    if isinstance(grid, ast.Name) and host is not None and grid.id not in host.params:
        return host.flow.only_value(grid.id) or grid
    return grid


def _is_number(source: KernelSource, value: ast.expr, host: HostCode | None) -> bool:
    match value:
        case ast.Constant(value=int() | float()):
            return True
        case ast.Call(func=ast.Name(id="int" | "len" | "max" | "min" | "round" as name)):
            return (
                source.names.scope_binding(value.func) is None if isinstance(value.func, ast.Name) else bool(name)
            )
        case ast.Call(func=ast.Attribute(attr="numel"), args=[]):
            return True
        case ast.Call():
            return source.dotted(value.func) in NUMBER_MAKERS
        case ast.BinOp(op=ast.Add() | ast.Mult()):
            return _is_number(source, value.left, host) and _is_number(source, value.right, host)
        case ast.BinOp():
            return _is_number(source, value.left, host) or _is_number(source, value.right, host)
    return False
