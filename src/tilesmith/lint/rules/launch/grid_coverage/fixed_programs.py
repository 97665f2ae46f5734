"""As many programs as the GPU or the author likes, each doing one tile: the rest of the data is never touched."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.sizes.possible_numbers import device_numbers, host_numbers
from tilesmith.lint.model.source import KernelSource, cached_per_source
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.rules.launch.grid_coverage.tile_sizes import StartedKernel, tile_on
from tilesmith.lint.structure.tiles.program_tiles import axes_asked
from tilesmith.records import Finding

HARDWARE = "multi_processor_count"


def fixed_numbers_of_programs(started: StartedKernel) -> Iterator[Finding]:
    """Only kernels without any loop: with one, a program may well go on."""
    if any(part.loops for part in started.source.with_callees(started.kernel)):
        return
    for number, axis in enumerate(started.grid.axes):
        value = started.grid.resolved(axis)
        if _is_too_small_block(number, value, started):
            count = ast.unparse(value)
            message = (
                f"a fixed grid of {count} programs covers {count} tiles, whatever the size: take the grid from the "
                "size with triton.cdiv, or let each program loop on by tl.num_programs"
            )
            yield warning("grid-coverage", value.lineno, message)
        elif _is_capped(value, started) and number in axes_asked(started.kernel) and not _is_told(value, started):
            message = (
                f"{ast.unparse(value)} programs for more tiles than that, and {started.kernel.name} has no loop to "
                "go on: loop over tiles by tl.num_programs, or start one program per tile"
            )
            yield warning("grid-coverage", value.lineno, message)


def _is_too_small_block(number: int, value: ast.expr, started: StartedKernel) -> bool:
    """A literal count times a literal tile, masked by a size that only the data tells."""
    if not isinstance(value, (ast.Constant, ast.Name, ast.Attribute)):
        return False
    if host_numbers(started.source, started.grid.host, value) is None:
        return False
    tile = tile_on(number, started)
    if tile is None or device_numbers(started.source, started.kernel, tile) is None:
        return False
    sizes = [name for name in _compared(started) if name in started.bound]
    return any(host_numbers(started.source, started.grid.host, started.bound[name]) is None for name in sizes)


def _compared(started: StartedKernel) -> list[str]:
    """Run-time parameters that a block's positions are compared with."""
    function = started.kernel
    tests = [n for n in function.nodes if isinstance(n, ast.Compare) and len(n.ops) == 1]
    ends = [test.comparators[0] for test in tests if isinstance(test.ops[0], (ast.Lt, ast.LtE))]
    return [end.id for end in ends if isinstance(end, ast.Name) and end.id in function.params]


def _is_capped(value: ast.expr, started: StartedKernel) -> bool:
    """The number of multiprocessors, or the smaller of that (or of a literal) and what the data asks for."""
    match value:
        case ast.Call(func=ast.Name(id="min"), args=[one, other]):
            return any(_is_limit(part, started) for part in (one, other)) and not all(
                _is_limit(part, started) for part in (one, other)
            )
        case ast.BinOp(op=ast.Mult()):
            return _is_hardware(value.left, started) or _is_hardware(value.right, started)
    return _is_hardware(value, started)


def _is_limit(value: ast.expr, started: StartedKernel) -> bool:
    return _is_hardware(value, started) or host_numbers(started.source, started.grid.host, value) is not None


def _is_hardware(value: ast.expr, started: StartedKernel) -> bool:
    """The count itself, under whatever name; no quotient and no sum of it."""
    meant = started.grid.resolved(value)
    if isinstance(meant, ast.Attribute):
        return meant.attr == HARDWARE or meant.attr in _hardware_members(started.source)
    return False


@cached_per_source
def _hardware_members(source: KernelSource) -> frozenset[str]:
    """`num_sms` after `self.num_sms = properties.multi_processor_count`."""
    assignments = [node for node in source.syntax.nodes if isinstance(node, ast.Assign)]
    kept = [a for a in assignments if isinstance(a.value, ast.Attribute) and a.value.attr == HARDWARE]
    return frozenset(target.attr for a in kept for target in a.targets if isinstance(target, ast.Attribute))


def _is_told(value: ast.expr, started: StartedKernel) -> bool:
    """The kernel gets the count, or a share made from it, as an argument."""
    host = started.grid.host
    if host is None or not started.bound:
        return True
    made = {name for name, bindings in host.flow.by_name.items() if any(b.value is value for b in bindings)}
    limits = made | {n for n in host.flow.by_name if _is_hardware(ast.Name(n, ast.Load()), started)}
    return any(host.flow.origins(argument) & limits for argument in started.bound.values())
