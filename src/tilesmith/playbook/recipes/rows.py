"""Reductions over the last dimensions with any pointwise work around them: one pass over each row.

Softmax, the normalizations, row sums and maxima. Where a row fits on chip, it is read once and everything else
happens in registers; a longer one is read in blocks, once per reduction that waits for another and once to write.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import is_known
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.steps import REDUCTIONS, KernelStep
from tilesmith.playbook.graph.symbols import Dim
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import Tile, write_in_blocks, write_on_one_tile
from tilesmith.tasks.graph import Node

ON_CHIP = 16384
"""The longest row (as a power of two) held in registers: 64 KB in float32."""
_MOST_ON_CHIP = 65536
_BLOCKS = ((4096, 8), (8192, 16), (2048, 8), (16384, 16))
"""Elements and warps per program for rows that do not fit."""
_TILE_ELEMENTS = 2048
"""What a program should have to do: short rows share one."""
_ROW = "row = tl.program_id(0).to(tl.int64)  # M * N may pass 2**31"
_MOST_WARPS, _LARGEST_BLOCK, _MOST_ROWS = 32, 16384, 64


class RowsRecipe:
    name = "rows"

    def knows(self, node: Node) -> bool:
        return is_known(node)

    def match(self, region: Region) -> RowsMatch | Declined:
        try:
            first = _first_reduction(Lowering(region.graph))
            if first is None:
                return Declined("the task reduces nothing")
            match = RowsMatch(region, first.options["length"])
            if not match.tunings:
                return Declined(f"the task picks places in rows of {match.length}, longer than fit on chip")
            match.write(match.tunings[0])
        except Unmatched as reason:
            return Declined(f"the task {reason}")
        return match


def _first_reduction(low: Lowering) -> KernelStep | None:
    waiting = [step for value in low.values.values() for step in (value if isinstance(value, tuple) else (value,))]
    seen: set[KernelStep] = set()
    while waiting:
        step = waiting.pop(0)
        if step.op in REDUCTIONS:
            return step
        if step not in seen:
            seen.add(step)
            waiting += [one for one in step.operands if isinstance(one, KernelStep)]
    return None


@dataclass(frozen=True)
class RowsMatch:
    region: Region
    length: int

    @property
    def name(self) -> str:
        return self._fused(Tile("row", "cols", True)).name

    @property
    def kernel_type(self) -> str:
        stored = self._fused(Tile("row", "cols", True)).outputs
        return "normalization" if any(output.value.is_wide for output in stored) else "reduction"

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        block = _power_of_two(self.length)
        if block > ON_CHIP:
            return tuple(_blocked(size, warps) for size, warps in _BLOCKS) if self._may_block else ()
        rows = min(max(_TILE_ELEMENTS // block, 1), 16)
        warps = min(max(rows * block // 512, 1), 16)
        whole = [_whole(rows, warps), _whole(rows, min(2 * warps, _MOST_WARPS)), _whole(rows, max(warps // 2, 1))]
        whole += [_whole(2 * rows, warps), _whole(max(rows // 2, 1), warps)]
        whole += [_blocked(2048, 8)] if block > 2048 and self._may_block else []
        return tuple(dict.fromkeys(whole))

    @cached_property
    def _may_block(self) -> bool:
        """Where an extreme lies is not known from the lanes of one block."""
        values = self._fused(Tile("row", "cols", True)).placer.values
        return not any(value.step.op in ("argmax", "argmin") for value in values)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        knob, most = {"memory": ("NUM_WARPS", _MOST_WARPS), "block": ("BLOCK_N", _LARGEST_BLOCK)}.get(
            stage, ("ROWS", _MOST_ROWS)
        )
        if knob not in tuning:
            return ()
        values = dict.fromkeys((min(2 * tuning[knob], most), max(tuning[knob] // 2, 1)))
        return tuple(tuning.changed(knob, value) for value in values)

    def strategy(self, tuning: Tuning) -> str:
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
        return self._fused(Tile("row", "cols", True)).working_operators > 1

    @property
    def advice(self) -> tuple[str, str]:
        plan = (
            f"{self.strategy(self.tunings[0])} Sums run over centered or shifted values in float32; lanes beyond "
            "the row hold the neutral element. Then try other numbers of rows and warps per program."
        )
        return plan, "read the row in blocks instead of holding it on chip"

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        tile = _tile(tuning)
        fused = self._fused(tile)
        kernel = KernelParts(
            name=fused.name,
            pointers=fused.pointers,
            sizes=(
                *(("M",) if tile.lead == "rows" else ()),
                "N",
                *(f"{n}: tl.constexpr" for n in fused.placer.sizes),
            ),
            scalars=tuple(number.name for number in fused.scalars),
            meta=_meta(tuning),
            body=tuple(_body(fused, tile, tuning)),
            helpers=fused.helpers,
            launcher=tuple(self._launcher(fused, tuning, prefix)),
        )
        title = f"{fused.title} over rows in one kernel."
        return fused.text(title, self.strategy(tuning), tuning.prefixed(prefix), kernel)

    def _fused(self, tile: Tile) -> FusedKernel:
        low = Lowering(self.region.graph)
        step = _first_reduction(low)
        assert step is not None
        dims, count = step.operands[0].form.dims, step.options["count"]
        cut = len(dims) - count
        placer = Placer(low.symbols, TilePosition(tile.lead, tile.trail, count), dims[:cut], dims[cut:])
        return fuse(low, placer, self.region)

    def _launcher(self, fused: FusedKernel, tuning: Tuning, prefix: str) -> list[str]:
        leading, columns = fused.placer.rows, fused.placer.columns
        sizes = [f"    N = {fused.product(_flat(columns))}", f"    M = {_row_count(fused, leading, columns)}"]
        if "BLOCK_N" in tuning:
            constants = [f"BLOCK_N={prefix}BLOCK_N", f"num_warps={prefix}NUM_WARPS"]
            return self._assembled(fused, sizes, "(M,)", ["N"], constants)
        sizes += [f'    assert N <= {_MOST_ON_CHIP}, "a row must fit in the registers of one program"']
        constants = ["BLOCK_N=triton.next_power_of_2(N)", f"num_warps={prefix}NUM_WARPS"]
        if tuning["ROWS"] == 1:
            return self._assembled(fused, sizes, "(M,)", ["N"], constants)
        rows = f"{prefix}ROWS"
        return self._assembled(fused, sizes, f"(triton.cdiv(M, {rows}),)", ["M", "N"], [f"ROWS={rows}", *constants])

    def _assembled(
        self, fused: FusedKernel, sizes: list[str], grid: str, given: list[str], constants: list[str]
    ) -> list[str]:
        launch = fused.launch(grid, given, constants)
        return [*fused.signature(), *fused.preparation(), *sizes, *fused.allocations(), *launch]


def _whole(rows: int, warps: int) -> Tuning:
    return Tuning((("ROWS", rows), ("NUM_WARPS", warps)))


def _blocked(block: int, warps: int) -> Tuning:
    return Tuning((("BLOCK_N", block), ("NUM_WARPS", warps)))


def _tile(tuning: Tuning) -> Tile:
    return Tile("rows" if "ROWS" in tuning and tuning["ROWS"] > 1 else "row", "cols", True)


def _meta(tuning: Tuning) -> tuple[str, ...]:
    several = "ROWS" in tuning and tuning["ROWS"] > 1
    return (*(("ROWS: tl.constexpr",) if several else ()), "BLOCK_N: tl.constexpr")


def _body(fused: FusedKernel, tile: Tile, tuning: Tuning) -> list[str]:
    if "BLOCK_N" in tuning:
        return [_ROW, *write_in_blocks(fused.placer, tile, fused.outputs)]
    if tile.lead == "rows":
        head = [
            "rows = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]",
            "cols = tl.arange(0, BLOCK_N)[None, :]",
            "mask_m = rows < M",
            "mask_n = cols < N",
            "mask = mask_m & mask_n",
        ]
    else:
        head = [_ROW, "cols = tl.arange(0, BLOCK_N)", "mask = cols < N"]
    return [*head, *write_on_one_tile(fused.placer, tile, fused.outputs)]


def _row_count(fused: FusedKernel, rows: tuple[Dim, ...], columns: tuple[Dim, ...]) -> str:
    symbols = fused.low.symbols
    for leaf in fused.leaves:
        if symbols.same(leaf.form.dims, (*rows, *columns)):
            return f"{leaf.name}.numel() // N"
    return fused.product(_flat(rows))


def _flat(dims: tuple[Dim, ...]) -> Dim:
    return tuple(axis for dim in dims for axis in dim)


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()
