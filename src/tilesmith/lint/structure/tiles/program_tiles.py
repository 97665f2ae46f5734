"""How a kernel uses its place in the grid: one tile per program, or a walk over many."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.model.syntax.flow import Flow, operands

DEEPEST_LOOK = 6


@dataclass(frozen=True)
class ScaledProgramId:
    """A program's number times something: `tl.program_id(axis) * scale`."""

    axis: int
    scale: ast.expr
    node: ast.AST


def scaled_numbers(function: JitFunction) -> list[ScaledProgramId]:
    """Everything the program's numbers are multiplied with."""
    queries = program_queries(function)
    found = []
    for node in function.nodes if queries else ():
        operation = operands(node)
        if operation is not None and isinstance(operation.op, ast.Mult):
            for number, scale in ((operation.left, operation.right), (operation.right, operation.left)):
                axis = _axis(number, function.flow, queries, DEEPEST_LOOK)
                if axis is not None:
                    found.append(ScaledProgramId(axis, scale, node))
    return found


def arange_sizes(function: JitFunction) -> list[ast.expr]:
    """`BLOCK` of every `tl.arange(0, BLOCK)`."""
    calls = [call.node for call in function.calls_of("arange")]
    return [call.args[1] for call in calls if len(call.args) == 2]


def program_queries(function: JitFunction) -> frozenset[ast.Call]:
    return frozenset(call.node for call in function.calls_of("program_id"))


def axes_asked(function: JitFunction) -> frozenset[int]:
    """Axes of the grid that the kernel looks at."""
    queries = program_queries(function)
    axes = {_axis(query, function.flow, queries, DEEPEST_LOOK) for query in queries}
    return frozenset(axis for axis in axes if axis is not None)


def _axis(value: ast.AST, flow: Flow, queries: frozenset[ast.Call], depth: int) -> int | None:
    """The axis, where the value is `tl.program_id(axis)` itself, or a name that is nothing else."""
    match value:
        case ast.Call() if value in queries:
            given = all_arguments(value)
            axis = given[0].value if given and isinstance(given[0], ast.Constant) else None
            return axis if type(axis) is int else None
        case ast.Call(func=ast.Attribute(value=owner, attr="to")):
            return _axis(owner, flow, queries, depth)
        case ast.Name(id=name):
            meant = flow.only_value(name) if depth else None
            return None if meant is None else _axis(meant, flow, queries, depth - 1)
    return None


def loops_by_program_id(function: JitFunction, source: KernelSource) -> bool:
    """Some loop of the kernel, or of what it calls, starts, ends or steps by the program's number."""
    for part in source.with_callees(function):
        queries = {call.node for call in part.calls_of("program_id", "num_programs")}
        bound = [(b.name, part.flow.syntax.inside(b.value)) for b in part.flow.bindings]
        numbers = {name for name, nodes in bound if any(node in queries for node in nodes)}
        for loop in part.loops:
            origins = part.flow.origins(*loop.bounds)
            asked = any(node in queries for node in part.flow.parts_behind(*loop.bounds))
            if asked or origins & numbers or (part is not function and origins & set(part.params)):
                return True
    return False
