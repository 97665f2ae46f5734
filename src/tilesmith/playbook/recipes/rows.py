"""Reductions over the last dimensions, or over everything, with any pointwise work around them.

Softmax, the normalizations, sums and maxima. Where a row fits on chip, it is read once and everything else happens
in registers. A longer one is shared by many programs: one kernel says what the parts of a row say, another puts
that together and writes. Where that is not possible, a program reads its row in blocks, once per reduction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import is_known
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.steps import LEAF, REDUCTIONS, SCANS, WIDTHS, KernelStep
from tilesmith.playbook.graph.symbols import Dim
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.recipes.shared_rows import MOST_PARTS, ROW, WAYS, SharedRows
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import PLACES, Tile, write_in_blocks, write_on_one_tile
from tilesmith.playbook.writing.row_parts import find_statistics, may_loop
from tilesmith.tasks.graph import Node

ON_CHIP = 16384
"""The longest row (as a power of two) held in registers: 64 KB in float32."""
_MOST_ON_CHIP = 65536
_BLOCKS = ((4096, 8), (8192, 16), (2048, 8), (16384, 16))
"""Elements and warps per program for rows that do not fit."""
_PARTS = ((8192, 16), (16384, 16), (4096, 4))
"""Elements and warps per program for rows that programs share."""
_HELD = ((8192, 16), (16384, 16), (4096, 8), (32768, 32))
"""The same where the programs of a row hold it on chip."""
_QUEUED = ((8192, 2, 16), (4096, 4, 8), (16384, 1, 16))
"""The same where parts stand in a queue: elements; parts per multiprocessor, beside a whole row, that are reduced
before the first one is written; and warps. Fewer parts and programs wait, more and the L2 forgets."""
_QUEUED_SHARE = 0.6
"""Of the L2 that a queue may fill with what it reads again: each half of an L2 keeps what its own programs read."""
_LOOPS = ((4096, 8), (2048, 4), (8192, 8), (8192, 16))
"""The same where all that is wanted are sums."""
_TILE_ELEMENTS = 2048
"""What a program should have to do: short rows share one."""
_FEW_ROWS, _SHARED_ROW = 64, 4096
"""So few rows leave most of a GPU idle, unless programs share those that are long enough."""
_MANY_ROWS = 256
"""So many rows fill a GPU by themselves, and what one program reads twice it reads from the L2 the second time."""
_RESIDENT = 2
"""Programs of long rows that run on a multiprocessor at once, or more."""
_MOST_WARPS, _LARGEST_BLOCK, _MOST_ROWS, _MOST_LEAD = 32, 16384, 64, 8


class RowsRecipe:
    name = "rows"

    def knows(self, node: Node) -> bool:
        return is_known(node)

    def match(self, region: Region) -> RowsMatch | Declined:
        try:
            first = find_reduction(Lowering(region.graph))
            if first is None:
                return Declined("the task reduces nothing")
            if reduces_columns(first):
                return Declined("the task reduces columns")
            length = first.options["length"]
            match = RowsMatch(region, length, prod(first.operands[0].form.shape) // length)
            if not match.tunings:
                return Declined(f"the task needs rows of {match.length} as a whole, longer than fit on chip")
            match.write(match.tunings[0])
        except Unmatched as reason:
            return Declined(f"the task {reason}")
        return match


def find_reduction(low: Lowering) -> KernelStep | None:
    """The first reduction: it says what a row is."""
    waiting = [step for value in low.values.values() for step in (value if isinstance(value, tuple) else (value,))]
    seen: set[KernelStep] = set()
    while waiting:
        step = waiting.pop(0)
        if step.op in REDUCTIONS or step.op in SCANS:
            return step
        if step not in seen:
            seen.add(step)
            waiting += [one for one in step.operands if isinstance(one, KernelStep)]
    return None


def reduces_columns(reduction: KernelStep) -> bool:
    """Whether neighbors in memory have results of their own."""
    form = reduction.operands[0].form
    wide = [i for i, size in enumerate(form.shape) if size != 1]
    return bool(wide) and wide[-1] not in reduction.options["axes"]


def may_block(fused: FusedKernel) -> bool:
    """Blocks are read in one direction."""
    values = fused.placer.values
    return len({value.step.options["reverse"] for value in values if value.step.op in SCANS}) < 2


def is_trailing(reduction: KernelStep) -> bool:
    """Whether rows lie in memory one after the other."""
    rank, axes = reduction.operands[0].form.rank, reduction.options["axes"]
    return bool(axes == tuple(range(rank - len(axes), rank)))


def count_outer(reduction: KernelStep) -> int:
    """How many dimensions come before those that are reduced."""
    return int(min(reduction.options["axes"]))


def fuse_reductions(region: Region, tile: Tile) -> FusedKernel:
    low = Lowering(region.graph)
    step = find_reduction(low)
    assert step is not None
    if prod(step.operands[0].form.shape) >= 2**31 and not is_trailing(step):
        raise Unmatched("reduces dimensions in the middle of a tensor of more than 2**31 elements")
    dims, axes = step.operands[0].form.dims, step.options["axes"]
    kept, reduced = [dim for i, dim in enumerate(dims) if i not in axes], [dims[i] for i in axes]
    outer = count_outer(step) if tile.has_outer else 0
    placer = Placer(low.symbols, TilePosition(tile.lead, tile.trail, len(reduced), outer), kept, reduced)
    return fuse(low, placer, region)


@dataclass(frozen=True)
class RowsMatch:
    region: Region
    length: int
    rows: int

    @property
    def name(self) -> str:
        return self._by_row.name

    @property
    def kernel_type(self) -> str:
        stored = self._by_row.outputs
        return "normalization" if any(output.value.is_wide for output in stored) else "reduction"

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        block = _power_of_two(self.length)
        blocked = [_blocked(size, warps) for size, warps in _BLOCKS] if self._may_block else []
        if block > ON_CHIP and self.rows >= _MANY_ROWS and not self._is_forgotten:
            held = [_whole(1, _MOST_WARPS), _whole(1, 16)] if block <= 2 * ON_CHIP and self._shared else []
            return tuple(
                dict.fromkeys([*held, *blocked[:1], *self._queued[:1], *blocked[1:2], *self._shared, *blocked])
            )
        if block > ON_CHIP:
            return (*self._shared, *blocked)
        rows = 1 if self.rows == 1 else min(max(_TILE_ELEMENTS // block, 1), 16)
        warps = min(max(rows * block // 512, 1), 16)
        whole = [_whole(rows, warps), _whole(rows, min(2 * warps, _MOST_WARPS)), _whole(rows, max(warps // 2, 1))]
        whole += [_whole(2 * rows, warps), _whole(max(rows // 2, 1), warps)] if self.rows > 1 else []
        whole += [_whole(1, 1)] if self.rows > 1 and 256 < block <= 1024 else []  # rows end without a barrier
        whole += [_blocked(2048, 8)] if block > 2048 and self._may_block else []
        few = self.rows < _FEW_ROWS and block > _SHARED_ROW
        return tuple(dict.fromkeys([*(self._shared if few else ()), *whole]))

    @property
    def _is_forgotten(self) -> bool:
        """Whether a program that reads its row for one reduction after the other finds it in no cache any more."""
        gpu, levels = self.region.survey.gpu, [value.level for value in self._by_row.placer.values]
        if gpu is None or self.kernel_type == "normalization" or max(levels) < 2:
            return False
        return _RESIDENT * gpu.multiprocessors * self._read_again[0] * self.length > gpu.l2_bytes

    @cached_property
    def _shared(self) -> tuple[Tuning, ...]:
        """Ways to share rows among programs."""
        if any(value.step.op in SCANS for value in self._by_row.placer.values):
            return ()
        try:
            loops = may_loop(find_statistics(self._by_row.placer.values))
        except Unmatched:
            return ()
        parts = [
            Tuning((("PART_N", size), ("NUM_WARPS", warps)))
            for size, warps in (_LOOPS if loops else _PARTS)
            if loops or self.length <= size * MOST_PARTS
        ]
        gpu = self.region.survey.gpu
        most = gpu.multiprocessors if gpu and self.kernel_type == "normalization" else 0
        held = [(size, warps) for size, warps in _HELD if self.length <= size * most]
        kept = [Tuning((("HELD_N", size), ("NUM_WARPS", warps))) for size, warps in held]
        queued = self._queued
        first = [*parts[:1], *kept[:1]] if self._by_parts else [*kept[:1], *queued[:1], *parts[:1]]
        return tuple(dict.fromkeys([*first, *kept, *queued, *parts]))

    @cached_property
    def _read_again(self) -> tuple[int, int]:
        """Bytes per column of what every row has of its own, and of what all rows have."""
        leaves = {one.step: one for one in self._by_row.placer.values if one.step.op == LEAF}
        wide = [(WIDTHS.get(step.dtype, 1), one.place.lead) for step, one in leaves.items() if one.is_wide]
        return sum(width for width, lead in wide if lead), sum(width for width, lead in wide if not lead)

    @property
    def _by_parts(self) -> bool:
        """Whether the L2 would forget between two rows what all of them have."""
        gpu = self.region.survey.gpu
        return gpu is not None and self.rows > 1 and 2 * self._read_again[1] * self.length > gpu.l2_bytes

    @cached_property
    def _queued(self) -> tuple[Tuning, ...]:
        """Where the L2 holds all that is read again: the rows in flight, and what all rows have."""
        gpu, (own, every) = self.region.survey.gpu, self._read_again
        if gpu is None or self.rows == 1 or self.kernel_type != "normalization":
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
        fused = self._by_row
        has_places = any(value.step.op in PLACES for value in fused.placer.values)
        return may_block(fused) and not (has_places and self.length >= 2**31)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        block = next((name for name in WAYS if name in tuning), "BLOCK_N")
        grid = ("LEAD", _MOST_LEAD) if "LEAD" in tuning else ("ROWS", _MOST_ROWS)
        knob, most = {"memory": ("NUM_WARPS", _MOST_WARPS), "block": (block, _LARGEST_BLOCK)}.get(stage, grid)
        if knob not in tuning or (knob == "ROWS" and self.rows == 1):
            return ()
        values = dict.fromkeys((min(2 * tuning[knob], most), max(tuning[knob] // 2, 1)))
        return tuple(tuning.changed(knob, value) for value in values)

    def strategy(self, tuning: Tuning) -> str:
        if "PART_N" in tuning:
            return (
                f"Rows in parts of {tuning['PART_N']} or more, one program of {tuning['NUM_WARPS']} warps each: "
                "one kernel reduces every part by itself, the next one puts the parts of a row together."
            )
        if "HELD_N" in tuning:
            return (
                f"Rows in parts of {tuning['HELD_N']}, one program of {tuning['NUM_WARPS']} warps each, which has "
                "its part on chip until all programs of its row have met: every input is read once."
            )
        if "QUEUE_N" in tuning:
            return (
                f"Rows in parts of {tuning['QUEUE_N']}, one program of {tuning['NUM_WARPS']} warps to reduce and "
                "one to write each, in the order of a queue: a part is read from memory once, and from the L2 when "
                "its row is known."
            )
        if "BLOCK_N" in tuning:
            return (
                f"One program of {tuning['NUM_WARPS']} warps per row, which it reads in blocks of "
                f"{tuning['BLOCK_N']}: once for every reduction that waits for another, and once to write."
            )
        rows = "row" if tuning["ROWS"] == 1 else f"{tuning['ROWS']} rows"
        return (
            f"One program of {tuning['NUM_WARPS']} warps per {rows}, the whole row on chip: "
            "every input is read once, every intermediate stays in registers."
        )

    @property
    def is_worth_it(self) -> bool:
        return self._by_row.working_operators > 1

    @property
    def advice(self) -> tuple[str, str]:
        plan = (
            f"{self.strategy(self.tunings[0])} Sums run over centered or shifted values in float32; lanes beyond "
            "the row hold the neutral element. Then try other numbers of rows and warps per program."
        )
        return plan, "read the row in blocks instead of holding it on chip"

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        fused = self._fused(self._tile(tuning))
        way = next((one for name, one in WAYS.items() if name in tuning), None)
        if way:
            counts, tile = self._counts(fused), self._row_tile
            kernel = SharedRows(fused, tile, counts, self.length, prefix, way, self._by_parts).kernels()
        else:
            kernel = self._alone(fused, tuning, prefix)
        where = "" if self.rows == 1 else " over rows"
        title = f"{fused.title}{where} in {'two kernels' if 'PART_N' in tuning else 'one kernel'}."
        return fused.text(title, self.strategy(tuning), tuning.prefixed(prefix), kernel)

    def _alone(self, fused: FusedKernel, tuning: Tuning, prefix: str) -> KernelParts:
        """One kernel whose programs have whole rows. Of one that is on chip the compiler knows the length, and
        leaves out what all lanes beyond it would do."""
        tile, length = self._tile(tuning), "N" if "BLOCK_N" in tuning else "N: tl.constexpr"
        return KernelParts(
            name=fused.name,
            pointers=fused.pointers,
            sizes=(*(("M",) if tile.lead == "rows" else ()), length, *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=_meta(tuning),
            body=tuple(_body(fused, tile, tuning)),
            helpers=fused.helpers,
            launcher=tuple(self._launcher(fused, tuning, prefix)),
        )

    @property
    def _row_tile(self) -> Tile:
        return Tile("row" if self.rows > 1 else None, "cols", True)

    def _tile(self, tuning: Tuning) -> Tile:
        several = "ROWS" in tuning and tuning["ROWS"] > 1
        return replace(self._row_tile, lead="rows") if several else self._row_tile

    @cached_property
    def _by_row(self) -> FusedKernel:
        return self._fused(self._row_tile)

    def _fused(self, tile: Tile) -> FusedKernel:
        return fuse_reductions(self.region, tile)

    def _launcher(self, fused: FusedKernel, tuning: Tuning, prefix: str) -> list[str]:
        sizes = self._counts(fused)
        programs = "(M,)" if self.rows > 1 else "(1,)"
        if "BLOCK_N" in tuning:
            if any(value.step.op in PLACES for value in fused.placer.values):
                sizes += ['    assert N < 2**31, "places are 32-bit"']
            constants = [f"BLOCK_N={prefix}BLOCK_N", f"num_warps={prefix}NUM_WARPS"]
            return self._assembled(fused, sizes, programs, ["N"], constants)
        sizes += [f'    assert N <= {_MOST_ON_CHIP}, "a row must fit in the registers of one program"']
        constants = ["BLOCK_N=triton.next_power_of_2(N)", f"num_warps={prefix}NUM_WARPS"]
        if tuning["ROWS"] == 1:
            return self._assembled(fused, sizes, programs, ["N"], constants)
        rows = f"{prefix}ROWS"
        return self._assembled(fused, sizes, f"(triton.cdiv(M, {rows}),)", ["M", "N"], [f"ROWS={rows}", *constants])

    def _counts(self, fused: FusedKernel) -> list[str]:
        return [line for line in count_rows(fused) if self.rows > 1 or "M" not in line]

    def _assembled(
        self, fused: FusedKernel, sizes: list[str], grid: str, given: list[str], constants: list[str]
    ) -> list[str]:
        launch = fused.launch(grid, given, constants)
        return [*fused.signature(), *fused.preparation(), *sizes, *fused.allocations(), *launch]


def _whole(rows: int, warps: int) -> Tuning:
    return Tuning((("ROWS", rows), ("NUM_WARPS", warps)))


def _blocked(block: int, warps: int) -> Tuning:
    return Tuning((("BLOCK_N", block), ("NUM_WARPS", warps)))


def _meta(tuning: Tuning) -> tuple[str, ...]:
    several = "ROWS" in tuning and tuning["ROWS"] > 1
    return (*(("ROWS: tl.constexpr",) if several else ()), "BLOCK_N: tl.constexpr")


def _body(fused: FusedKernel, tile: Tile, tuning: Tuning) -> list[str]:
    if "BLOCK_N" in tuning:
        return [*_row(tile), *write_in_blocks(fused.placer, tile, fused.outputs)]
    if tile.lead == "rows":
        head = [
            "rows = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]",
            "cols = tl.arange(0, BLOCK_N)[None, :]",
            "mask_m = rows < M",
            "mask_n = cols < N",
            "mask = mask_m & mask_n",
        ]
    else:
        head = [*_row(tile), "cols = tl.arange(0, BLOCK_N)", "mask = cols < N"]
    return [*head, *write_on_one_tile(fused.placer, tile, fused.outputs)]


def _row(tile: Tile) -> list[str]:
    return [ROW] if tile.lead else []


def count_rows(fused: FusedKernel) -> list[str]:
    """Lines of a launcher: N, the length of a row, and M, the number of rows."""
    rows, columns, symbols = fused.placer.rows, fused.placer.columns, fused.low.symbols
    whole = (leaf for leaf in fused.leaves if symbols.same(leaf.form.dims, (*rows, *columns)))
    count = next((f"{leaf.name}.numel() // N" for leaf in whole), fused.product(flat(rows)))
    lines = [f"    N = {fused.product(flat(columns))}", f"    M = {count}"]
    reduction = find_reduction(fused.low)
    if reduction is not None and not is_trailing(reduction):
        lines.append('    assert M * N < 2**31, "offsets are 32-bit"')
    return lines


def flat(dims: tuple[Dim, ...]) -> Dim:
    return tuple(axis for dim in dims for axis in dim)


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()
