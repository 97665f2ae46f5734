"""Reductions over dimensions that are not the last: every lane of a program has a column of its own.

Neighbors in memory are read together and reduced apart. Short columns are on chip as a whole; longer ones are read
in blocks, once per reduction that waits for another and once to write. Where columns are few, programs share them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import is_known
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.recipes.row_tunings import may_block
from tilesmith.playbook.recipes.rows import (
    ROW_TILE,
    count_outer,
    count_rows,
    find_reduction,
    find_transposed,
    flat,
    fuse_reductions,
    reduces_columns,
)
from tilesmith.playbook.recipes.shared_columns import PER_MULTIPROCESSOR, SharedColumns, may_share, write_columns
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import PLACES, Tile, write_in_blocks, write_on_one_tile
from tilesmith.tasks.graph import Node

_TILE = Tile("cols", "rows", True)
_FILLED = 0.75
"""The share of lanes that must have a column where a program keeps to one place in the dimensions before: what does
not differ between its columns it then reads once."""
_ON_CHIP = 512
"""The longest column (as a power of two) held on chip beside 31 others: 64 KB in float32."""
_BLOCKS = ((128, 32, 8), (64, 16, 4), (128, 32, 4), (64, 64, 8), (256, 16, 8), (32, 128, 8))
"""Columns, elements of a column, and warps per program, for columns that do not fit."""
_RESIDENT = 6
"""Programs of the first kind that run on a multiprocessor at once: where there are more, those of the second kind
leave less of a GPU idle in the end."""
_PLACES = ((256, 4, 4), (128, 16, 4), (256, 8, 8))
"""The same where places of extremes are wanted: every lane compares on its own, and few compare at the end."""
_SHARED = ((32, 8), (16, 4), (16, 8))
"""Elements of a column and warps per program, for columns that programs share."""
_MOST_COLUMNS, _MOST_WARPS, _LARGEST_BLOCK = 1024, 32, 256


class ColumnsRecipe:
    name = "columns"

    def knows(self, node: Node) -> bool:
        return is_known(node)

    def match(self, region: Region) -> ColumnsMatch | Declined:
        try:
            first = find_reduction(Lowering(region.graph))
            if first is None:
                return Declined("the task reduces nothing")
            length = first.options["length"]
            shape = first.operands[0].form.shape
            outer = prod(shape[: count_outer(first)])
            if not reduces_columns(first):
                transposed = find_transposed(fuse_reductions(region, ROW_TILE))
                if not transposed or not all(transposed):
                    return Declined("the task reduces no columns")
                outer = 1
            match = ColumnsMatch(region, length, outer, prod(shape) // length // outer)
            if not match.tunings:
                return Declined(f"the task runs both ways over columns of {length}, longer than fit on chip")
            match.write(match.tunings[0])
        except Unmatched as reason:
            return Declined(f"the task {reason}")
        return match


@dataclass(frozen=True)
class ColumnsMatch:
    region: Region
    length: int
    outer: int
    """How many places the dimensions before the columns have."""
    columns: int
    """Of each of them."""

    @cached_property
    def _fused(self) -> FusedKernel:
        return fuse_reductions(self.region, _TILE)

    def _tile(self, tuning: Tuning) -> Tile:
        width = tuning["BLOCK_M"]
        return replace(
            _TILE, has_outer=self.outer > 1 and self.columns >= _FILLED * width * -(-self.columns // width)
        )

    @property
    def name(self) -> str:
        return self._fused.name

    @property
    def kernel_type(self) -> str:
        return "normalization" if any(one.value.is_wide for one in self._fused.outputs) else "reduction"

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        finds_places = any(value.step.op in PLACES for value in self._fused.placer.values)
        gpu, (wide, narrow, *others) = self.region.survey.gpu, _BLOCKS
        in_waves = gpu is not None and self.outer * self.columns > wide[0] * _RESIDENT * gpu.multiprocessors
        sizes = _PLACES if finds_places else (narrow, wide, *others) if in_waves else _BLOCKS
        if gpu is not None and self.outer * self.columns < wide[0] * gpu.multiprocessors:
            sizes = tuple(sorted(sizes))
        blocked = [_blocked(*size) for size in sizes] if may_block(self._fused) else []
        height = 1 << (self.length - 1).bit_length()
        if height > _ON_CHIP:
            return (*self._shared, *blocked)
        width = min(max(8192 // height, 32), 256)
        warps = min(max(width * height // 1024, 1), 16)
        whole = [_whole(width, warps), _whole(width, min(2 * warps, 16)), _whole(max(width // 2, 16), warps)]
        whole += [_whole(2 * width, warps)] if width * height <= 8192 else []
        if self._reads_once and height > 32:
            return tuple(dict.fromkeys([*self._shared, *blocked[:3], *whole]))
        return tuple(dict.fromkeys([*self._shared, *whole, *(blocked[:2] if height > 32 else [])]))

    @property
    def _reads_once(self) -> bool:
        """Whether one pass in blocks is all it takes: then nothing is gained by having columns on chip."""
        return self.kernel_type == "reduction" and all(value.level <= 1 for value in self._fused.placer.values)

    @cached_property
    def _shared(self) -> tuple[Tuning, ...]:
        """Ways to share columns that are too few for a GPU."""
        gpu, width = self.region.survey.gpu, min(128, max(16, 1 << (self.columns - 1).bit_length()))
        blocks = -(-self.outer * self.columns // width)
        if gpu is None or self.length < 4 * _SHARED[0][0] or blocks >= PER_MULTIPROCESSOR / 2 * gpu.multiprocessors:
            return ()
        try:
            if not may_share(self._fused):
                return ()
        except Unmatched:
            return ()
        return tuple(
            Tuning((("BLOCK_M", width), ("PART_N", size), ("NUM_WARPS", warps))) for size, warps in _SHARED
        )

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        block = "PART_N" if "PART_N" in tuning else "BLOCK_N"
        knobs = {"memory": ("NUM_WARPS", _MOST_WARPS), "block": (block, _LARGEST_BLOCK)}
        knob, most = knobs.get(stage, ("BLOCK_M", _MOST_COLUMNS))
        if knob not in tuning:
            return ()
        values = dict.fromkeys((min(2 * tuning[knob], most), max(tuning[knob] // 2, 1)))
        return tuple(tuning.changed(knob, value) for value in values)

    def strategy(self, tuning: Tuning) -> str:
        each = f"One program of {tuning['NUM_WARPS']} warps per {tuning['BLOCK_M']} columns"
        if "PART_N" in tuning:
            return (
                f"{each} and part of their length, which it reads in blocks of {tuning['PART_N']}: as many parts "
                "as keep a GPU busy. A second kernel puts the parts of a column together."
            )
        if "BLOCK_N" not in tuning:
            return f"{each}, which are on chip as a whole: every input is read once."
        return (
            f"{each}, which it reads in blocks of {tuning['BLOCK_N']}: once for every reduction that waits for "
            "another, and once to write."
        )

    @property
    def is_worth_it(self) -> bool:
        return self._fused.working_operators > 1

    @property
    def advice(self) -> tuple[str, str]:
        plan = (
            f"{self.strategy(self.tunings[0])} Neighbors in memory are neighbors in a warp; sums run over centered "
            "or shifted values in float32. Then try other widths, heights and numbers of warps."
        )
        return plan, "a narrower tile"

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        tile = self._tile(tuning)
        fused, shared = fuse_reductions(self.region, tile), "PART_N" in tuning
        counts, blocks = _count_columns(fused, tile)
        if shared:
            kernel = SharedColumns(fused, tile, counts, blocks, prefix).kernels()
        else:
            kernel = self._alone(fused, tile, "BLOCK_N" in tuning, prefix)
        title = f"{fused.title} over columns in {'two kernels' if shared else 'one kernel'}."
        return fused.text(title, self.strategy(tuning), tuning.prefixed(prefix), kernel)

    def _alone(self, fused: FusedKernel, tile: Tile, blocked: bool, prefix: str) -> KernelParts:
        """One kernel whose programs have whole columns."""
        head = write_columns(tile, "tl.program_id(0)")
        if blocked:
            body = write_in_blocks(fused.placer, tile, fused.outputs)
        else:
            head += ["rows = tl.arange(0, BLOCK_N)[:, None]", "mask_n = rows < N", "mask = mask_m & mask_n"]
            body = write_on_one_tile(fused.placer, tile, fused.outputs)
        return KernelParts(
            name=fused.name,
            pointers=fused.pointers,
            sizes=("M", "N", *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=("BLOCK_M: tl.constexpr", "BLOCK_N: tl.constexpr"),
            body=(*head, *body),
            helpers=fused.helpers,
            launcher=tuple(self._launcher(fused, tile, blocked, prefix)),
        )

    def _launcher(self, fused: FusedKernel, tile: Tile, blocked: bool, prefix: str) -> list[str]:
        counts, blocks = _count_columns(fused, tile)
        lines = [*fused.signature(), *fused.preparation(), *counts]
        if not blocked:
            lines.append(f'    assert N <= {2 * _ON_CHIP}, "a column must fit in the registers of one program"')
        height = f"{prefix}BLOCK_N" if blocked else "triton.next_power_of_2(N)"
        constants = [f"BLOCK_M={prefix}BLOCK_M", f"BLOCK_N={height}", f"num_warps={prefix}NUM_WARPS"]
        launch = fused.launch(f"({blocks.format(f'{prefix}BLOCK_M')},)", ["M", "N"], constants)
        return [*lines, *fused.allocations(), *launch]


class _ColumnCounts(NamedTuple):
    lines: list[str]
    """Of a launcher: N, the length of a column; M, the number of columns; OUTER, how often there are so many."""
    blocks: str
    """How many blocks of columns there are, for a width to be filled in."""


def _count_columns(fused: FusedKernel, tile: Tile) -> _ColumnCounts:
    if not tile.has_outer:
        return _ColumnCounts(count_rows(fused), "triton.cdiv(M, {})")
    reduction = find_reduction(fused.low)
    assert reduction is not None
    rows, outer = fused.placer.rows, count_outer(reduction)
    lines = [
        f"    N = {fused.product(flat(fused.placer.columns))}",
        f"    OUTER, M = {fused.product(flat(rows[:outer]))}, {fused.product(flat(rows[outer:]))}",
        '    assert OUTER * M * N < 2**31, "offsets are 32-bit"',
    ]
    return _ColumnCounts(lines, "OUTER * triton.cdiv(M, {})")


def _whole(width: int, warps: int) -> Tuning:
    return Tuning((("BLOCK_M", width), ("NUM_WARPS", warps)))


def _blocked(width: int, height: int, warps: int) -> Tuning:
    return Tuning((("BLOCK_M", width), ("BLOCK_N", height), ("NUM_WARPS", warps)))
