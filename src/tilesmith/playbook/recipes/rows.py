"""Reductions over the last dimensions, or over everything, with any pointwise work around them.

Softmax, the normalizations, sums and maxima. Where a row fits on chip, it is read once and everything else happens
in registers. A longer one is shared by many programs: one kernel says what the parts of a row say, another puts
that together and writes. Where that is not possible, a program reads its row in blocks, once per reduction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import is_known
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.steps import LEAF, REDUCTIONS, SCANS, KernelStep
from tilesmith.playbook.graph.symbols import Dim
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.recipes.row_tunings import RowTunings
from tilesmith.playbook.recipes.shared_rows import ROW, WAYS, SharedRows
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import PLACES, Tile, find_needed, write_in_blocks, write_on_one_tile
from tilesmith.tasks.graph import Node

_MOST_ON_CHIP = 65536
_LARGE = 1 << 20
"""Elements from which on it costs more to read columns as rows than to launch one more kernel."""
ROW_TILE = Tile("row", "cols", True)


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
            if length * match.rows >= _LARGE and any(find_transposed(match.by_row)):
                return Declined("the task reduces columns of a tensor that lies in rows")
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


def find_transposed(fused: FusedKernel) -> list[bool]:
    """For every reduction, whether it reads nothing but tensors in which neighbors of a row are far apart. One
    program for each row would take few bytes of many; but whoever writes rows has to go one of both ways."""
    if any(output.value.is_wide for output in fused.outputs):
        return []
    found = []
    for reduction in (value for value in fused.placer.values if value.step.op in REDUCTIONS):
        below = find_needed([reduction], lambda _: True)
        texts = [one.text for one in below if one.step.op == LEAF and one.is_wide and one.place.lead]
        found.append(bool(texts) and all(re.search(r"cols \* .* \+ (row|\(row % \w+\))$", text) for text in texts))
    return found


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
        return self.by_row.name

    @property
    def kernel_type(self) -> str:
        return "normalization" if self._listing.writes_rows else "reduction"

    @cached_property
    def _listing(self) -> RowTunings:
        return RowTunings(self.by_row, self.length, self.rows, self.region.survey.gpu)

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        return self._listing.listed

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        return self._listing.variations(tuning, stage)

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
        return self.by_row.working_operators > 1

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
            kernel = SharedRows(fused, tile, counts, self.length, prefix, way, self._listing.is_by_parts).kernels()
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
        return ROW_TILE if self.rows > 1 else replace(ROW_TILE, lead=None)

    def _tile(self, tuning: Tuning) -> Tile:
        several = "ROWS" in tuning and tuning["ROWS"] > 1
        return replace(self._row_tile, lead="rows") if several else self._row_tile

    @cached_property
    def by_row(self) -> FusedKernel:
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
