"""How many registers the blocks that a loop carries take, where sizes and warps can be read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from tilesmith.lint.model.device.values import DeviceValue, Dim
from tilesmith.lint.model.sizes.possible_numbers import host_numbers
from tilesmith.lint.model.source import AutotuneConfig, HostCode, JitFunction, KernelLoop, KernelSource, LaunchSite
from tilesmith.lint.vocabulary import LOADS, STORES

THREADS_PER_WARP = 32
DEFAULT_WARPS = 4
BYTES = {
    **dict.fromkeys(("float64", "int64", "uint64"), 8),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("int8", "uint8", "int1", "float8e4nv", "float8e5"), 1),
}
REGISTER_BYTES = 4
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class CarriedBlocks:
    """The blocks of one loop under one configuration."""

    loop: KernelLoop
    names: tuple[str, ...]
    registers: int
    """Per thread."""
    warps: int


def carried_blocks(kernel: JitFunction, source: KernelSource) -> Iterator[CarriedBlocks]:
    """For each loop its leanest configuration; nothing where some size is unknown."""
    launches = source.launches_of(kernel)
    if not kernel.loops or len(launches) == 0:
        return
    ways = [way for launch in launches for way in _ways(kernel, launch, source)]
    for loop in kernel.loops:
        blocks = {name: value for name in sorted(loop.carried) if (value := _block(name, loop, kernel))}
        counted = [_count(loop, blocks, sizes, warps) for sizes, warps in ways]
        known = [found for found in counted if found is not None]
        if blocks and known and len(known) == len(counted):
            yield min(known, key=lambda found: found.registers)


def _ways(kernel: JitFunction, launch: LaunchSite, source: KernelSource) -> Iterator[tuple[Sizes, int]]:
    """Meta-parameters and warps of each configuration a launch may run with; empty sizes where unreadable."""
    host = source.host_of(launch)
    bound = launch.bound_to(kernel) if launch.direct else None
    given = _numbers({**kernel.defaults, **(bound or {})}, host, source)
    configs: list[AutotuneConfig | None] = [None]
    if kernel.autotune is not None:
        configs = [*kernel.autotune.configs] if kernel.autotune.complete else [None]
    for config in configs:
        meta = _numbers(config.meta, None, source) if config else {}
        option = config.options.get("num_warps") if config else launch.option("num_warps")
        warps = _one(option, None if config else host, source) if option is not None else DEFAULT_WARPS
        yield (({**given, **meta}, warps) if warps and bound is not None else ({}, DEFAULT_WARPS))


def _numbers(values: Mapping[str, ast.expr], host: HostCode | None, source: KernelSource) -> dict[str, int]:
    found = {name: _one(value, host, source) for name, value in values.items()}
    return {name: number for name, number in found.items() if number is not None}


def _one(value: ast.expr, host: HostCode | None, source: KernelSource) -> int | None:
    """The least of the numbers it can be."""
    numbers = host_numbers(source, host, value)
    return min(numbers) if numbers else None


def _block(name: str, loop: KernelLoop, kernel: JitFunction) -> DeviceValue | None:
    """What the name holds before the loop, if that is a block of values and not of addresses."""
    addresses = [c.node.args[0] for c in loop.calls if c.operation in LOADS | STORES and c.node.args]
    if any(name in loop.flow.syntax.names(address) for address in addresses):
        return None
    before = [b for b in kernel.flow.by_name.get(name, ()) if b.whole and b.line < loop.node.lineno]
    values = [kernel.value(binding.value) for binding in before if isinstance(binding.value, ast.expr)]
    blocks = [value for value in values if value.is_block]
    return blocks[-1] if blocks and len(blocks) == len(before) else None


def _count(loop: KernelLoop, blocks: Mapping[str, DeviceValue], sizes: Sizes, warps: int) -> CarriedBlocks | None:
    total = 0
    for value in blocks.values():
        sides = [_side(size, sizes) for size in value.shape or ()]
        known = [side for side in sides if side is not None]
        if len(known) != len(sides):
            return None
        total += prod(known) * BYTES.get(value.dtype, REGISTER_BYTES)
    return CarriedBlocks(loop, tuple(blocks), total // (THREADS_PER_WARP * warps * REGISTER_BYTES), warps)


def _side(size: Dim, sizes: Sizes) -> int | None:
    if isinstance(size, str):
        return sizes.get(size)
    return size
