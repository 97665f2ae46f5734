"""How rows are given to programs: how many rows or elements and warps each has, the best guess first.

The order is what was fastest on an H200; where there is little time, the first guess is all that is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilesmith.playbook.graph.steps import LEAF, SCANS, WIDTHS
from tilesmith.playbook.recipe import Tuning
from tilesmith.playbook.recipes.shared_rows import MOST_PARTS, WAYS
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import PLACES
from tilesmith.playbook.writing.row_parts import find_statistics, may_loop
from tilesmith.records import GpuPeaks

ON_CHIP = 16384
"""The longest row (as a power of two) held in registers: 64 KB in float32."""
_BLOCKS = ((4096, 8), (8192, 16), (2048, 8), (16384, 16))
"""Elements and warps per program for rows that do not fit."""
_PARTS = ((8192, 16), (4096, 4), (8192, 8), (16384, 16))
"""Elements and warps per program for rows that programs share and write."""
_REDUCED = ((4096, 4), (8192, 8), (8192, 16), (16384, 16))
"""The same where they only reduce them."""
_HELD = ((8192, 8), (4096, 4), (16384, 8), (16384, 16), (32768, 32))
"""The same where the programs of a row hold it on chip."""
_QUEUED = ((4096, 4, 4), (8192, 2, 8), (16384, 1, 16))
"""The same where parts stand in a queue: elements; parts per multiprocessor, beside a whole row, that are reduced
before the first one is written; and warps. Fewer parts and programs wait, more and the L2 forgets."""
_QUEUED_SHARE = 0.6
"""Of the L2 that a queue may fill with what it reads again: each half of an L2 keeps what its own programs read."""
_LOOPS = ((4096, 8), (2048, 4), (8192, 8), (8192, 16))
"""The same where all that is wanted are sums."""
_ROW_ALONE, _TILE_ELEMENTS = 1024, 2048
"""From this length on a row has a program of its own; shorter ones share one that has this much to do."""
_PER_WARP, _FEW_LEAVES = 1024, 3
"""Elements of a row per warp, where no more tensors than this are on chip at once."""
_FEW_ROWS, _SHARED_ROW = 64, 4096
"""So few rows leave most of a GPU idle, unless programs share those that are long enough."""
_MANY_ROWS = 256
"""So many rows fill a GPU by themselves."""
_RESIDENT = 4
"""Programs of long rows that run on a multiprocessor at once, or more."""
_MOST_WARPS, _LARGEST_BLOCK, _MOST_ROWS, _MOST_LEAD = 32, 16384, 64, 8


@dataclass(frozen=True)
class RowTunings:
    fused: FusedKernel
    length: int
    rows: int
    gpu: GpuPeaks | None

    @cached_property
    def writes_rows(self) -> bool:
        return any(output.value.is_wide for output in self.fused.outputs)

    @cached_property
    def listed(self) -> tuple[Tuning, ...]:
        block = 1 << (self.length - 1).bit_length()
        blocked = [_blocked(size, warps) for size, warps in _BLOCKS] if self._may_block else []
        shared, found = self._shared, list[Tuning]()
        if block <= ON_CHIP:
            few = shared if self.rows < _FEW_ROWS and block > _SHARED_ROW else ()
            whole = self._whole(block)
            found = [*few, *whole] if self.writes_rows else [*whole, *few]
            found += [_blocked(2048, 8)] if block > 2048 and self._may_block else []
        elif self.rows < _MANY_ROWS:
            found = [*shared, *blocked]
        else:
            found = [_whole(1, _MOST_WARPS), _whole(1, 16)] if block <= 2 * ON_CHIP and shared else []
            queued = [tuning for tuning in shared if "QUEUE_N" in tuning]
            found += [] if self._is_forgotten else [*blocked[:1], *queued[:1], *blocked[1:2]]
            found += [*shared, *blocked]
        return tuple(dict.fromkeys(found))

    def _whole(self, block: int) -> list[Tuning]:
        """Rows that are on chip."""
        if self.rows < _FEW_ROWS or block < _ROW_ALONE:
            rows = 1 if self.rows == 1 else min(max(_TILE_ELEMENTS // block, 1), 16)
            warps = min(max(rows * block // 512, 1), 16)
            found = [_whole(rows, one) for one in (warps, min(2 * warps, _MOST_WARPS), max(warps // 2, 1))]
            found += [_whole(2 * rows, warps), _whole(max(rows // 2, 1), warps)] if self.rows > 1 else []
            found += [_whole(1, 1)] if self.rows > 1 and 256 < block <= 1024 else []  # rows end without a barrier
            return found
        many = len([one for one in self._wide_leaves if one[1]]) > _FEW_LEAVES
        warps = min(block // (_PER_WARP // 2 if many else _PER_WARP), 16)
        if self._scans:  # what warps say one another costs more than what each has to do
            warps = max(min(block // 512, 4), block // 2048)
        return [*(_whole(1, one) for one in (warps, 2 * warps, warps // 2 or 4)), _whole(2, 2 * warps)]

    @property
    def _scans(self) -> bool:
        return any(value.step.op in SCANS for value in self.fused.placer.values)

    @property
    def _is_forgotten(self) -> bool:
        """Whether a program that reads its row several times finds it in no cache any more."""
        levels = max(value.level for value in self.fused.placer.values)
        if self.gpu is None or levels + self.writes_rows < 2:
            return False
        return _RESIDENT * self.gpu.multiprocessors * self._read_again[0] * self.length > self.gpu.l2_bytes

    @cached_property
    def _shared(self) -> tuple[Tuning, ...]:
        """Ways to share rows among programs."""
        if self._scans:
            return ()
        try:
            loops = may_loop(find_statistics(self.fused.placer.values))
        except Unmatched:
            return ()
        sizes = (*_LOOPS, *_PARTS[-1:]) if loops else _PARTS if self.writes_rows else _REDUCED
        sums = loops and not self.writes_rows  # of any length
        parts = [
            Tuning((("PART_N", size), ("NUM_WARPS", warps)))
            for size, warps in sizes
            if sums or self.length <= size * MOST_PARTS * (2 if loops else 1)
        ]
        most = self.gpu.multiprocessors if self.gpu and self.writes_rows else 0
        largest = 16384 if self._divides else 32768  # addresses are on chip, too
        held = [(size, warps) for size, warps in _HELD if self.length <= size * most and size <= largest]
        kept = [Tuning((("HELD_N", size), ("NUM_WARPS", warps))) for size, warps in held]
        queued, first = self._queued, [*kept[:1], *self._queued[:1], *parts[:1]]
        if self.is_by_parts:
            first = [*parts[:1], *kept[:1]]
        elif self._divides:  # a program that only reduces or only writes has fewer addresses on chip
            first = [*queued[:1], *kept[:1], *parts[:1]]
        return tuple(dict.fromkeys([*first, *kept, *queued, *parts]))

    @property
    def _divides(self) -> bool:
        """Whether a column has to be taken apart to find its elements."""
        return any("cols //" in value.text for value in self.fused.placer.values)

    @cached_property
    def _wide_leaves(self) -> list[tuple[int, str | None]]:
        """Bytes per column of every tensor that has columns, and the variable that counts its rows."""
        leaves = {one.step: one for one in self.fused.placer.values if one.step.op == LEAF}
        return [(WIDTHS.get(step.dtype, 1), one.place.lead) for step, one in leaves.items() if one.is_wide]

    @property
    def _read_again(self) -> tuple[int, int]:
        """Bytes per column of what every row has of its own, and of what all rows have."""
        wide = self._wide_leaves
        return sum(width for width, lead in wide if lead), sum(width for width, lead in wide if not lead)

    @property
    def is_by_parts(self) -> bool:
        """Whether the L2 would forget between two rows what all of them have."""
        gpu = self.gpu
        return gpu is not None and self.rows > 1 and 2 * self._read_again[1] * self.length > gpu.l2_bytes

    @cached_property
    def _queued(self) -> tuple[Tuning, ...]:
        """Where the L2 holds all that is read again: the rows in flight, and what all rows have."""
        gpu, (own, every) = self.gpu, self._read_again
        if gpu is None or self.rows == 1 or not self.writes_rows:
            return ()
        row = (own + every) * self.length
        return tuple(
            Tuning((("QUEUE_N", size), ("LEAD", lead), ("NUM_WARPS", warps)))
            for size, lead, warps in _QUEUED
            if row + own * lead * size * gpu.multiprocessors <= _QUEUED_SHARE * gpu.l2_bytes
            and self.length <= size * MOST_PARTS
        )

    @cached_property
    def _may_block(self) -> bool:
        has_places = any(value.step.op in PLACES for value in self.fused.placer.values)
        return may_block(self.fused) and not (has_places and self.length >= 2**31)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        block = next((name for name in WAYS if name in tuning), "BLOCK_N")
        grid = ("LEAD", _MOST_LEAD) if "LEAD" in tuning else ("ROWS", _MOST_ROWS)
        knob, most = {"memory": ("NUM_WARPS", _MOST_WARPS), "block": (block, _LARGEST_BLOCK)}.get(stage, grid)
        if knob not in tuning or (knob == "ROWS" and self.rows == 1):
            return ()
        values = dict.fromkeys((min(2 * tuning[knob], most), max(tuning[knob] // 2, 1)))
        return tuple(tuning.changed(knob, value) for value in values)


def may_block(fused: FusedKernel) -> bool:
    """Blocks are read in one direction."""
    values = fused.placer.values
    return len({value.step.options["reverse"] for value in values if value.step.op in SCANS}) < 2


def _whole(rows: int, warps: int) -> Tuning:
    return Tuning((("ROWS", rows), ("NUM_WARPS", warps)))


def _blocked(block: int, warps: int) -> Tuning:
    return Tuning((("BLOCK_N", block), ("NUM_WARPS", warps)))
