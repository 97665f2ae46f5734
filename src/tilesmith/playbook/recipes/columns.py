"""Reductions over dimensions that are not the last: every lane of a program has a column of its own.

Neighbors in memory are read together and reduced apart. Short columns are on chip as a whole; longer ones are read
in blocks, once per reduction that waits for another and once to write.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import is_known
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.recipes.rows import count_rows, find_reduction, fuse_reductions, may_block, reduces_columns
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import Tile, write_in_blocks, write_on_one_tile
from tilesmith.tasks.graph import Node

_TILE = Tile("cols", "rows", True)
_ON_CHIP = 512
"""The longest column (as a power of two) held on chip beside 31 others: 64 KB in float32."""
_BLOCKS = ((128, 32, 8), (64, 64, 8), (256, 16, 8), (32, 128, 8), (128, 16, 4))
"""Columns, elements of a column, and warps per program, for columns that do not fit."""
_MOST_COLUMNS, _MOST_WARPS, _LARGEST_BLOCK = 1024, 32, 256


class ColumnsRecipe:
    name = "columns"

    def knows(self, node: Node) -> bool:
        return is_known(node)

    def match(self, region: Region) -> ColumnsMatch | Declined:
        try:
            first = find_reduction(Lowering(region.graph))
            if first is None or not reduces_columns(first):
                return Declined("the task reduces no columns")
            length = first.options["length"]
            match = ColumnsMatch(region, length, prod(first.operands[0].form.shape) // length)
            if not match.tunings:
                return Declined(f"the task picks places in columns of {length}, longer than fit on chip")
            match.write(match.tunings[0])
        except Unmatched as reason:
            return Declined(f"the task {reason}")
        return match


@dataclass(frozen=True)
class ColumnsMatch:
    region: Region
    length: int
    columns: int

    @cached_property
    def _fused(self) -> FusedKernel:
        return fuse_reductions(self.region, _TILE)

    @property
    def name(self) -> str:
        return self._fused.name

    @property
    def kernel_type(self) -> str:
        return "normalization" if any(one.value.is_wide for one in self._fused.outputs) else "reduction"

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        blocked = [_blocked(*size) for size in _BLOCKS] if may_block(self._fused) else []
        height = 1 << (self.length - 1).bit_length()
        if height > _ON_CHIP:
            return tuple(blocked)
        width = min(max(8192 // height, 32), 256)
        warps = min(max(width * height // 1024, 1), 16)
        whole = [_whole(width, warps), _whole(width, min(2 * warps, 16)), _whole(max(width // 2, 16), warps)]
        whole += [_whole(2 * width, warps)] if width * height <= 8192 else []
        return tuple(dict.fromkeys([*whole, *(blocked[:2] if height > 32 else [])]))

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        knobs = {"memory": ("NUM_WARPS", _MOST_WARPS), "block": ("BLOCK_N", _LARGEST_BLOCK)}
        knob, most = knobs.get(stage, ("BLOCK_M", _MOST_COLUMNS))
        if knob not in tuning:
            return ()
        values = dict.fromkeys((min(2 * tuning[knob], most), max(tuning[knob] // 2, 1)))
        return tuple(tuning.changed(knob, value) for value in values)

    def strategy(self, tuning: Tuning) -> str:
        each = f"One program of {tuning['NUM_WARPS']} warps per {tuning['BLOCK_M']} columns"
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
        fused, blocked = self._fused, "BLOCK_N" in tuning
        head = [
            "cols = (tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M))[None, :]",
            "mask_m = cols < M",
        ]
        if blocked:
            body = write_in_blocks(fused.placer, _TILE, fused.outputs)
        else:
            head += ["rows = tl.arange(0, BLOCK_N)[:, None]", "mask_n = rows < N", "mask = mask_m & mask_n"]
            body = write_on_one_tile(fused.placer, _TILE, fused.outputs)
        kernel = KernelParts(
            name=fused.name,
            pointers=fused.pointers,
            sizes=("M", "N", *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=("BLOCK_M: tl.constexpr", "BLOCK_N: tl.constexpr"),
            body=(*head, *body),
            helpers=fused.helpers,
            launcher=tuple(self._launcher(fused, blocked, prefix)),
        )
        title = f"{fused.title} over columns in one kernel."
        return fused.text(title, self.strategy(tuning), tuning.prefixed(prefix), kernel)

    def _launcher(self, fused: FusedKernel, blocked: bool, prefix: str) -> list[str]:
        lines = [*fused.signature(), *fused.preparation(), *count_rows(fused)]
        if not blocked:
            lines.append(f'    assert N <= {2 * _ON_CHIP}, "a column must fit in the registers of one program"')
        height = f"{prefix}BLOCK_N" if blocked else "triton.next_power_of_2(N)"
        constants = [f"BLOCK_M={prefix}BLOCK_M", f"BLOCK_N={height}", f"num_warps={prefix}NUM_WARPS"]
        launch = fused.launch(f"(triton.cdiv(M, {prefix}BLOCK_M),)", ["M", "N"], constants)
        return [*lines, *fused.allocations(), *launch]


def _whole(width: int, warps: int) -> Tuning:
    return Tuning((("BLOCK_M", width), ("NUM_WARPS", warps)))


def _blocked(width: int, height: int, warps: int) -> Tuning:
    return Tuning((("BLOCK_M", width), ("BLOCK_N", height), ("NUM_WARPS", warps)))
