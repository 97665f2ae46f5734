"""One launch with the kernel it certainly starts, and grids made for one tile size where the kernel has another."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilesmith.lint.model.device.operations import literal_int
from tilesmith.lint.model.sizes.possible_numbers import Numbers, device_numbers, host_numbers, parameter_numbers
from tilesmith.lint.model.source import JitFunction, KernelSource, LaunchSite
from tilesmith.lint.model.syntax.call_arguments import defaults
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.launches.grids import LaunchGrid, read_grid
from tilesmith.lint.structure.tiles.program_tiles import arange_sizes, loops_by_program_id, scaled_numbers
from tilesmith.lint.vocabulary import STORES
from tilesmith.records import Finding


@dataclass(frozen=True)
class StartedKernel:
    source: KernelSource
    launch: LaunchSite
    kernel: JitFunction
    grid: LaunchGrid
    bound: Mapping[str, ast.expr]
    """Arguments by parameter; empty when some hide behind a star."""

    def numbers(self, value: ast.expr) -> Numbers:
        """What a size in the grid can be: a literal, a name for one, or a meta-parameter."""
        name = self.grid.meta_parameter(value)
        if name is not None:
            return parameter_numbers(self.source, self.kernel, name) if name in self.kernel.params else None
        return host_numbers(self.source, self.grid.host, value)

    def same(self, one: ast.expr, other: ast.expr) -> bool:
        """Two host expressions for one size."""
        if ast.dump(self.grid.resolved(one)) == ast.dump(self.grid.resolved(other)):
            return True
        numbers = self.numbers(one)
        return numbers is not None and len(numbers) == 1 and numbers == self.numbers(other)

    def parameter_for(self, size: ast.expr) -> str | None:
        """The kernel's compile-time parameter that gets this size."""
        name = self.grid.meta_parameter(size)
        if name is not None:
            return name if name in self.kernel.params else None
        if self.numbers(size) is None and not self._is_chosen(size):
            return None
        compile_time = [(name, value) for name, value in self.bound.items() if name in self.kernel.constexprs]
        return next((name for name, value in compile_time if self.same(size, value)), None)

    def _is_chosen(self, size: ast.expr) -> bool:
        """A size the author picks rather than the data: a default, or the smaller of a literal and something."""
        meant = self.grid.resolved(size)
        if isinstance(meant, ast.Name) and self.grid.host is not None:
            return isinstance(defaults(self.grid.host.node).get(meant.id), ast.Constant)
        match meant:
            case ast.Call(func=ast.Name(id="min"), args=arguments):
                return any(isinstance(argument, ast.Constant) for argument in arguments)
        return False


def started_kernels(source: KernelSource) -> Iterator[StartedKernel]:
    for launch in source.live_launches:
        kernels = source.kernels_of(launch)
        grid = read_grid(launch, source) if len(kernels) == 1 else None
        if grid is not None:
            yield StartedKernel(source, launch, kernels[0], grid, launch.bound_to(kernels[0]) or {})


def is_cdiv(call: ast.AST, source: KernelSource) -> bool:
    """`triton.cdiv` or a function of that name, whoever wrote it."""
    if not isinstance(call, ast.Call) or len(call.args) != 2:
        return False
    dotted = source.dotted(call.func) or ""
    name = call.func.id if isinstance(call.func, ast.Name) else dotted.rpartition(".")[2]
    return name in {"cdiv", "ceil_div", "ceildiv"}


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
        one, other = literal_int(config.meta.get(counted)), literal_int(config.meta.get(tile.id))
        if one is not None and other is not None and one != other:
            return one, other
    return None


def _handles_several(pair: tuple[int, int], started: StartedKernel) -> bool:
    """A loop with stores inside, or one that steps by the program's number, goes through several tiles."""
    stores_in_loop = any(call.operation in STORES for loop in started.kernel.loops for call in loop.calls)
    return (pair[0] % pair[1] == 0 and stores_in_loop) or loops_by_program_id(started.kernel, started.source)
