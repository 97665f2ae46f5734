"""Long columns that programs share: a kernel that says what every part says, and one that puts that together.

Few columns would leave most of a GPU idle if each program read whole ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.shared_rows import among
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import Tile
from tilesmith.playbook.writing.kernel_file import render_kernel
from tilesmith.playbook.writing.row_parts import (
    PLACE,
    PLAIN,
    Statistic,
    find_read,
    find_statistics,
    find_written,
    list_loaded,
    write_empty_parts,
    write_parts,
    write_together,
)

PER_MULTIPROCESSOR = 4
"""Programs that keep a multiprocessor busy."""
_MOST_PARTS = 256
_BLOCK_M = 16
"""Columns per program that puts parts together: with all their parts they are one tile."""


@dataclass(frozen=True)
class SharedColumns:
    fused: FusedKernel
    tile: Tile
    counts: list[str]
    """Lines of the launcher that find N and M."""
    blocks: str
    """How many programs have a block of columns, as the launcher writes it for a width."""
    prefix: str

    @cached_property
    def _statistics(self) -> tuple[Statistic, ...]:
        return find_statistics(self.fused.placer.values)

    def kernels(self) -> KernelParts:
        """The second of the two, with the first among its helpers."""
        fused, tile = self.fused, self.tile
        held = [f"{name}_part" for one in self._statistics for name, _ in one.stored]
        kept = tuple(f"{name}_ptr" for name in held)
        first = (
            "part = tl.program_id(0) % PARTS",
            *write_columns(tile, "tl.program_id(0) // PARTS"),
            *write_parts(fused.placer, tile, self._statistics, loops=True),
        )
        second = (
            *write_columns(tile, "tl.program_id(0)"),
            *write_together(fused.placer, tile, self._statistics, fused.outputs),
        )
        read = list_loaded(fused, find_read(self._statistics))
        parts = KernelParts(
            name=f"{fused.name}_parts",
            pointers=(*(f"{name}_ptr" for name in read), *kept),
            sizes=("M", "N", "PARTS", "SPAN", *among(fused.index_sizes, first)),
            scalars=among((number.name for number in fused.scalars), first),
            meta=("BLOCK_M: tl.constexpr", "BLOCK_N: tl.constexpr"),
            body=first,
            helpers=(),
            launcher=(),
        )
        again = list_loaded(fused, find_written(fused.outputs))
        sizes = ("M", *among(["N"], second), "PARTS")
        launches = [
            *fused.call(
                f"{fused.name}_parts_kernel[(blocks * PARTS,)]",
                read,
                held,
                ["M", "N", "PARTS", "SPAN"],
                [
                    f"BLOCK_M={self.prefix}BLOCK_M",
                    f"BLOCK_N={self.prefix}PART_N",
                    f"num_warps={self.prefix}NUM_WARPS",
                ],
                first,
            ),
            *fused.call(
                f"{fused.name}_kernel[({self.blocks.format(_BLOCK_M)},)]",
                [*again, *held],
                [output.name for output in fused.outputs],
                sizes,
                [f"BLOCK_M={_BLOCK_M}", "BLOCK_PARTS=triton.next_power_of_2(PARTS)", "num_warps=8"],
                second,
            ),
        ]
        return KernelParts(
            name=fused.name,
            pointers=(*(f"{name}_ptr" for name in again), *kept, *(one.pointer for one in fused.outputs)),
            sizes=(*sizes, *among(fused.index_sizes, second)),
            scalars=among((number.name for number in fused.scalars), second),
            meta=("BLOCK_M: tl.constexpr", "BLOCK_PARTS: tl.constexpr"),
            body=second,
            helpers=(*fused.helpers, render_kernel(parts)),
            launcher=tuple(self._launcher(launches)),
        )

    def _launcher(self, launches: Sequence[str]) -> list[str]:
        fused, near = self.fused, self.fused.leaves[0].name
        block = f"{self.prefix}PART_N"
        shape = "(OUTER * M, PARTS)" if self.tile.has_outer else "(M, PARTS)"
        return [
            *fused.signature(),
            *fused.preparation(),
            *self.counts,
            f"    blocks = max(1, {self.blocks.format(f'{self.prefix}BLOCK_M')})",
            f"    most = {PER_MULTIPROCESSOR}",
            f"    if {near}.is_cuda:",
            f"        most *= torch.cuda.get_device_properties({near}.device).multi_processor_count",
            f"    tiles = max(1, triton.cdiv(N, {block}))",
            f"    SPAN = triton.cdiv(tiles, min(tiles, {_MOST_PARTS}, triton.cdiv(most, blocks))) * {block}",
            "    PARTS = max(1, triton.cdiv(N, SPAN))",
            *write_empty_parts(self._statistics, shape, near),
            *fused.allocations(),
            *launches,
            f"    return {', '.join(output.name for output in fused.outputs)}",
        ]


def may_share(fused: FusedKernel) -> bool:
    """Whether parts of columns can be put together lane by lane; refuses what `find_statistics` refuses."""
    rules = {statistic.rule for statistic in find_statistics(fused.placer.values)}
    return rules <= {PLAIN, PLACE} and not any(output.value.is_wide for output in fused.outputs)


def write_columns(tile: Tile, block: str) -> list[str]:
    """Which columns a program has: the n-th block of all, or of those of one place in the dimensions before."""
    if not tile.has_outer:
        columns = f"({block}).to(tl.int64)" if "//" in block else f"{block}.to(tl.int64)"
        return [f"cols = ({columns} * BLOCK_M + tl.arange(0, BLOCK_M))[None, :]", "mask_m = cols < M"]
    return [
        f"block = {block}",
        "outer = (block // tl.cdiv(M, BLOCK_M)).to(tl.int64)",
        "cols = (block % tl.cdiv(M, BLOCK_M) * BLOCK_M + tl.arange(0, BLOCK_M))[None, :]",
        "mask_m = cols < M",
    ]
