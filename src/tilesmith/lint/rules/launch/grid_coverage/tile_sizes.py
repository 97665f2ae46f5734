"""A grid made for one tile size, a kernel given another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.sizes.possible_numbers import device_numbers
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.rules.launch.grid_coverage.started_kernels import StartedKernel, is_cdiv
from tilesmith.lint.structure.tiles.program_tiles import arange_sizes, loops_by_program_id, scaled_numbers
from tilesmith.lint.vocabulary import STORES
from tilesmith.records import Finding


def tiles_of_other_sizes(started: StartedKernel) -> Iterator[Finding]:
    for number, axis in enumerate(started.grid.axes):
        counted = _counted_size(axis, started)
        tile = tile_on(number, started) if counted is not None else None
        if not isinstance(tile, (ast.Name, ast.Constant)) or isinstance(counted, (ast.BinOp, ast.Call, type(None))):
            continue
        pair = _differing(counted, tile, started)
        if pair is not None and not _handles_several(pair, started):
            size = ast.unparse(tile)
            message = (
                f"the grid counts tiles of {pair[0]}, but a program of {started.kernel.name} handles {size} = "
                f"{pair[1]}: take both from one size"
            )
            yield warning("grid-coverage", started.grid.resolved(axis).lineno, message)


def tile_on(axis: int, started: StartedKernel) -> ast.expr | None:
    """The one size the program's number on this axis is scaled by, when it is that of a block."""
    sizes = {ast.unparse(size) for size in arange_sizes(started.kernel)}
    scaled = [found for found in scaled_numbers(started.kernel) if found.axis == axis]
    constant = [found for found in scaled if _is_constant(found.scale, started)]
    if len({ast.unparse(found.scale) for found in constant}) != 1:
        return None
    chained = any(_is_factor(started.source.syntax.parents.get(found.node)) for found in constant)
    tile = constant[0].scale
    return tile if not chained and ast.unparse(tile) in sizes else None


def _is_factor(node: ast.AST | None) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _is_constant(scale: ast.expr, started: StartedKernel) -> bool:
    """Known when compiling, as tiles are and strides mostly are not."""
    names = started.source.syntax.names(scale)
    return names <= started.kernel.constexprs


def _counted_size(axis: ast.expr, started: StartedKernel) -> ast.expr | None:
    """`BLOCK` of a whole axis `cdiv(n, BLOCK)`, `(n + BLOCK - 1) // BLOCK` or `n // BLOCK`."""
    value = started.grid.resolved(axis)
    if isinstance(value, ast.Call) and is_cdiv(value, started.source):
        return value.args[1]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv):
        return value.right
    return None


def _differing(counted: ast.expr, tile: ast.expr, started: StartedKernel) -> tuple[int, int] | None:
    """Both sizes, where they are known and differ, in some config at least."""
    one = started.numbers(counted)
    other = device_numbers(started.source, started.kernel, tile)
    if one and other and len(one) == len(other) == 1:
        first, second = next(iter(one)), next(iter(other))
        return (first, second) if first != second else None
    return _differing_config(started.grid.meta_parameter(counted), tile, started)


def _differing_config(counted: str | None, tile: ast.expr, started: StartedKernel) -> tuple[int, int] | None:
    tuner = started.kernel.autotune
    if tuner is None or counted is None or not isinstance(tile, ast.Name):
        return None
    for config in tuner.configs:
        one, other = _number(config.meta.get(counted)), _number(config.meta.get(tile.id))
        if one is not None and other is not None and one != other:
            return one, other
    return None


def _number(value: ast.expr | None) -> int | None:
    return value.value if isinstance(value, ast.Constant) and type(value.value) is int else None


def _handles_several(pair: tuple[int, int], started: StartedKernel) -> bool:
    """A loop with stores inside, or one that steps by the program's number, goes through several tiles."""
    stores_in_loop = any(call.operation in STORES for loop in started.kernel.loops for call in loop.calls)
    return (pair[0] % pair[1] == 0 and stores_in_loop) or loops_by_program_id(started.kernel, started.source)
