"""`n // BLOCK` programs: the last, partly filled tile has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource, cached_per_source
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.rules.launch.grid_coverage.tile_sizes import StartedKernel, is_cdiv
from tilesmith.lint.structure.tiles.program_tiles import arange_sizes, loops_by_program_id
from tilesmith.records import Finding


def remainders_left_out(started: StartedKernel) -> Iterator[Finding]:
    for axis in started.grid.axes:
        for division in _floor_divisions(axis, started):
            tile = started.parameter_for(division.right)
            if tile is None or not _is_tile(tile, started) or _leaves_nothing(division, tile, started):
                continue
            message = (
                f"the grid counts {ast.unparse(division)} tiles and leaves out the last, partly filled one: "
                f"round up with triton.cdiv({ast.unparse(division.left)}, {ast.unparse(division.right)})"
            )
            yield warning("grid-coverage", division.lineno, message)


def _floor_divisions(value: ast.expr, started: StartedKernel, depth: int = 8) -> Iterator[ast.BinOp]:
    """Those that nothing rounds up again: not in a sum, not negated, not inside triton.cdiv."""
    match value:
        case ast.BinOp(op=ast.FloorDiv()):
            yield value
        case ast.BinOp(op=ast.Mult()):
            yield from _floor_divisions(value.left, started, depth)
            yield from _floor_divisions(value.right, started, depth)
        case ast.Call(func=ast.Name(id="min" | "max" | "int")):
            for argument in value.args:
                yield from _floor_divisions(argument, started, depth)
        case ast.IfExp():
            yield from _floor_divisions(value.body, started, depth)
            yield from _floor_divisions(value.orelse, started, depth)
        case ast.Name() if depth:
            meant = started.grid.resolved(value)
            if meant is not value:
                yield from _floor_divisions(meant, started, depth - 1)


def _is_tile(parameter: str, started: StartedKernel) -> bool:
    """The kernel makes blocks of this size and does not walk on to further ones."""
    sizes = {name for size in arange_sizes(started.kernel) for name in started.source.syntax.names(size)}
    return parameter in sizes and not loops_by_program_id(started.kernel, started.source)


def _leaves_nothing(division: ast.BinOp, tile: str, started: StartedKernel) -> bool:
    return (
        _was_rounded(division, started)
        or _divides(division, started)
        or _is_guarded(division, tile, started)
        or _is_padded(division, started)
    )


def _was_rounded(division: ast.BinOp, started: StartedKernel) -> bool:
    """`(n + BLOCK - 1) // BLOCK`."""
    dividend = started.grid.resolved(division.left)
    return isinstance(dividend, ast.BinOp) and isinstance(dividend.op, (ast.Add, ast.Sub))


def _divides(division: ast.BinOp, started: StartedKernel) -> bool:
    whole, part = started.numbers(division.left), started.numbers(division.right)
    if part == frozenset({1}):
        return True
    return bool(whole and part) and all(n % p == 0 for n in whole or () for p in part or () if p)


def _is_padded(division: ast.BinOp, started: StartedKernel) -> bool:
    """The dividend was made with the divisor, or with a function that rounds."""
    dividend = started.grid.resolved(division.left)
    inside = started.source.syntax.inside(dividend)
    divisor = ast.dump(division.right)
    rounds = any(isinstance(n, ast.Call) and (is_cdiv(n, started.source) or _is_power(n)) for n in inside)
    return rounds or any(isinstance(n, ast.expr) and ast.dump(n) == divisor for n in inside)


def _is_power(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "next_power_of_2"


def _is_guarded(division: ast.BinOp, tile: str, started: StartedKernel) -> bool:
    """Someone looks at the remainder: `assert n % BLOCK == 0`, a branch for it, or blocks chosen by it."""
    syntax = started.source.syntax
    divisor = division.right
    sizes = [divisor, *([started.bound[tile]] if tile in started.bound else [])]
    around = started.launch.function or syntax.tree
    here = [found for found in _remainders(started.source) if syntax.contains(around, found)]
    dividend = ast.dump(division.left)
    if any(ast.dump(found.left) == dividend for found in here):
        return True
    if any(started.same(found.right, size) for found in here for size in sizes):
        return True
    return _is_guarded_elsewhere(divisor, tile, started)


def _is_guarded_elsewhere(divisor: ast.expr, tile: str, started: StartedKernel) -> bool:
    """By another function of the file, or by the kernel itself."""
    syntax = started.source.syntax
    remainders = _remainders(started.source)
    if any(isinstance(divisor, ast.Name) and ast.dump(n.right) == ast.dump(divisor) for n in remainders):
        return True
    asserted = [call.node for call in started.kernel.calls_of("static_assert", "device_assert", "assume")]
    inside = [n for n in remainders if any(syntax.contains(call, n) for call in asserted)]
    return any(tile in syntax.names(n.right) for n in inside)


@cached_per_source
def _remainders(source: KernelSource) -> tuple[ast.BinOp, ...]:
    """Every `a % b` of the file."""
    return tuple(n for n in source.syntax.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod))
