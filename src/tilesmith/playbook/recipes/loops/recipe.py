"""Loops that a trace has step by step: one kernel goes through the steps with the state in registers.

PyTorch launches several kernels for every step, each of which reads and writes the state. Here a program has some
elements of the state, for all steps: what a step takes is read at its place (and computed there, where PyTorch
would compute it for all steps beforehand), what it gives is written at its place, and the state stays on chip.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import prod
from typing import NamedTuple, TypeVar

from tilesmith.playbook.graph.loops import Loop, find_loops
from tilesmith.playbook.graph.operators import is_known, operator_name
from tilesmith.playbook.graph.placement import PlacedValue, TilePosition
from tilesmith.playbook.graph.steps import GIVEN
from tilesmith.playbook.graph.sums.running_sums import find_running_sums
from tilesmith.playbook.graph.symbols import Dim
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.recipes.loops.chunks import ChunkMatch
from tilesmith.playbook.recipes.loops.steps import STEP, VECTOR_PRODUCTS, LoopLowering, LoopPlacer
from tilesmith.playbook.recipes.rows import find_reduction, flat
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.formula import write_formula
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import Tile, choose_paddings, write_store, write_value
from tilesmith.tasks.graph import Node

_ELEMENTS = ((256, 2, 4), (128, 1, 4), (512, 4, 4), (256, 1, 3), (256, 2, 1), (1024, 4, 3))
"""Elements of the state per program, warps, and steps whose reads are under way at once."""
_MOST_COLUMNS, _MOST_ELEMENTS, _MOST_WARPS, _MOST_STAGES = 1024, 4096, 16, 8
_FLAT, _ROWS = Tile(None, "offs", False), Tile("rows", "cols", True)


class LoopsRecipe:
    name = "loops"

    def knows(self, node: Node) -> bool:
        return is_known(node) or operator_name(node) in VECTOR_PRODUCTS

    def match(self, region: Region) -> LoopMatch | ChunkMatch | Declined:
        graph = region.graph
        loop = next(chain(find_loops(graph), find_running_sums(graph)), None)
        if loop is None:
            return Declined("the task has no loop over steps that are alike")
        try:
            return _written(ChunkMatch(region, loop, LoopLowering(loop)))
        except Unmatched as reason:
            if not loop.is_written:
                return Declined(f"the task {reason}")
        try:
            low = LoopLowering(loop)
            return _written(LoopMatch(region, loop, low, find_reduction(low) is not None))
        except Unmatched as reason:
            return Declined(f"the task {reason}")


_M = TypeVar("_M", "LoopMatch", ChunkMatch)


def _written(match: _M) -> _M:
    """The match, if it can be written."""
    match.write(match.tunings[0])
    return match


class _Carried(NamedTuple):
    """A state: what it is called, what it is before the loop, and after a step."""

    state: PlacedValue
    start: PlacedValue
    after: PlacedValue


@dataclass(frozen=True, eq=False)
class LoopMatch:
    region: Region
    loop: Loop
    low: LoopLowering
    has_rows: bool
    """Whether every step sums over a part of the state, which a program has as a whole."""
    kernel_type = "scan"
    is_worth_it = True

    @property
    def name(self) -> str:
        return self.fused.name

    @cached_property
    def fused(self) -> FusedKernel:
        low = self.low
        rows: list[Dim] = []
        columns: list[Dim] = []
        if (reduction := find_reduction(low)) is not None:
            dims, axes = reduction.operands[0].form.dims, reduction.options["axes"]
            rows = [dim for i, dim in enumerate(dims) if i not in axes]
            columns = [dims[i] for i in axes]
        elif self.loop.states:
            columns = [*low.step(self.loop.states[0][1]).form.dims]
        if prod(low.symbols.size(dim) for dim in columns) > _MOST_COLUMNS and self.has_rows:
            raise Unmatched("sums over more of a state than one program holds")
        tile = self._tile
        placer = LoopPlacer(low.symbols, TilePosition(tile.lead, tile.trail, len(columns)), rows, columns)
        placer.low = low
        for before, after in self.loop.states:  # the launcher takes what these need, too
            placer.first(low.starts[before])
            placer.output(low.step(after))
        return fuse(low, placer, replace(self.region, graph=self.loop.rolled), ending="scan")

    @property
    def _tile(self) -> Tile:
        return _ROWS if self.has_rows else _FLAT

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        return tuple(dict.fromkeys(self._tuning(*one) for one in _ELEMENTS))

    def _tuning(self, elements: int, warps: int, stages: int) -> Tuning:
        if not self.has_rows:
            return Tuning((("BLOCK", elements), ("NUM_STAGES", stages), ("NUM_WARPS", warps)))
        width = 1 << (self._length - 1).bit_length()
        rows = max(elements // width, 1)
        return Tuning((("ROWS", rows), ("NUM_STAGES", stages), ("NUM_WARPS", warps)))

    @property
    def _length(self) -> int:
        placer = self.fused.placer
        return placer.symbols.size(flat(placer.columns))

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        size = "ROWS" if self.has_rows else "BLOCK"
        most = _MOST_ELEMENTS // (1 << (self._length - 1).bit_length()) if self.has_rows else _MOST_ELEMENTS
        knob, limit = {"memory": ("NUM_STAGES", _MOST_STAGES), "block": ("NUM_WARPS", _MOST_WARPS)}.get(
            stage, (size, max(most, 1))
        )
        values = dict.fromkeys((min(2 * tuning[knob], limit), max(tuning[knob] // 2, 1)))
        return tuple(tuning.changed(knob, value) for value in values)

    def strategy(self, tuning: Tuning) -> str:
        what = f"{tuning['ROWS']} rows" if self.has_rows else f"{tuning['BLOCK']} elements"
        return (
            f"One program of {tuning['NUM_WARPS']} warps per {what} of the state, which stay in registers for all "
            f"steps; what {tuning['NUM_STAGES']} steps need is on its way at once."
        )

    @property
    def advice(self) -> tuple[str, str]:
        plan = (
            f"{self.strategy(self.tunings[0])} What PyTorch computes for all steps beforehand is computed in the "
            "step that needs it, from what it is made of. Then try other numbers of elements, warps and stages."
        )
        return plan, "fewer elements of the state per program"

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        fused = self.fused
        sizes = ("M", "STEPS", "N: tl.constexpr") if self.has_rows else ("numel", "STEPS")
        meta = ("ROWS: tl.constexpr", "BLOCK_N: tl.constexpr") if self.has_rows else ("BLOCK: tl.constexpr",)
        kernel = KernelParts(
            name=fused.name,
            pointers=fused.pointers,
            sizes=(*sizes, *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=(*meta, "NUM_STAGES: tl.constexpr"),
            body=tuple(self._body(fused)),
            helpers=fused.helpers,
            launcher=tuple(self._launcher(fused, prefix)),
        )
        text = fused.text(
            f"{fused.title} step by step in one kernel.", self.strategy(tuning), tuning.prefixed(prefix), kernel
        )
        states = [(self.low.step(before).name, after) for before, after in self.loop.states]
        told = (f"    next {state} = {write_formula(self.low, after)}" for state, after in states)
        return replace(text, formulas=(*told, *text.formulas))

    @cached_property
    def _carried(self) -> list[_Carried]:
        """The states that some step looks at."""
        placer, low = self.fused.placer, self.low
        assert isinstance(placer, LoopPlacer)
        known = {one.step: one for one in placer.values if one.step.op == GIVEN}
        pairs = [(low.step(before), before, low.step(after)) for before, after in self.loop.states]
        return [
            _Carried(known[state], placer.first(low.starts[before]), placer.output(after).value)
            for state, before, after in pairs
            if state in known
        ]

    def _body(self, fused: FusedKernel) -> list[str]:
        values, tile = fused.placer.values, self._tile
        inside, carried = _find_dependent(values), self._carried
        if any(one.start in inside for one in carried):
            raise Unmatched("begins with a state that depends on the step")
        filled = choose_paddings(values) if tile.pads else {}
        written = [(write_value(tile, one, filled), one in inside) for one in values if one.step.op != GIVEN]
        counter = "done" if self.loop.is_backward else STEP
        ends = {one.after: one.state.name for one in carried}
        last = [self.low.step(name) for name in self.loop.last.values()]
        at_steps = [one for one in fused.outputs if one.step not in last]
        at_end = [
            replace(one, value=replace(one.value, name=ends[one.value]))
            for one in fused.outputs
            if one.step in last
        ]
        return [
            *_head(self.has_rows),
            *(line for line, is_inside in written if not is_inside),
            *(f"{one.state.name} = tl.broadcast_to({one.start.name}, {self._shape(one.state)})" for one in carried),
            f"for {counter} in tl.range(0, STEPS, num_stages=NUM_STAGES):",
            *([f"    {STEP} = STEPS - 1 - done"] if self.loop.is_backward else []),
            *(f"    {line}" for line, is_inside in written if is_inside),
            *(f"    {write_store(tile, one)}" for one in at_steps),
            *(f"    {state} = {value.name}" for value, state in ends.items()),
            *(write_store(tile, one) for one in at_end),
        ]

    def _shape(self, state: PlacedValue) -> str:
        if not self.has_rows:
            return "[BLOCK]"
        return f"[{'ROWS' if state.place.lead else '1'}, {'BLOCK_N' if state.is_wide else '1'}]"

    def _launcher(self, fused: FusedKernel, prefix: str) -> list[str]:
        placer = fused.placer
        along = fused.product(self.low.along)
        tensors = ", ".join([*(one.name for one in fused.loaded), *(one.name for one in fused.outputs)])
        constants = [f"NUM_STAGES={prefix}NUM_STAGES", f"num_warps={prefix}NUM_WARPS"]
        if self.has_rows:
            counts = [
                f"    N = {fused.product(flat(placer.columns))}",
                f"    M = {fused.product(flat(placer.rows))}",
                f'    assert N <= {_MOST_COLUMNS}, "a program must hold what it sums"',
            ]
            own = [f"ROWS={prefix}ROWS", "BLOCK_N=triton.next_power_of_2(N)"]
            launch = fused.launch(f"(triton.cdiv(M, {prefix}ROWS),)", ["M", "STEPS", "N"], [*own, *constants])
        else:
            counts = [f"    numel = {fused.product(flat(placer.columns))}"]
            grid = f"(triton.cdiv(numel, {prefix}BLOCK),)"
            launch = fused.launch(grid, ["numel", "STEPS"], [f"BLOCK={prefix}BLOCK", *constants])
        return [
            *fused.signature(),
            *fused.preparation(),
            f"    STEPS = {along}",
            *counts,
            *fused.allocations(),
            f'    assert max(one.numel() for one in ({tensors})) < 2**31 - {_MOST_ELEMENTS}, "offsets are 32-bit"',
            *launch,
        ]


def _head(has_rows: bool) -> list[str]:
    if not has_rows:
        return ["offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "mask = offs < numel"]
    return [
        "rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]",
        "cols = tl.arange(0, BLOCK_N)[None, :]",
        "mask_m = rows < M",
        "mask_n = cols < N",
        "mask = mask_m & mask_n",
    ]


def _find_dependent(values: list[PlacedValue]) -> set[PlacedValue]:
    """Those that are others at every step."""
    found: set[PlacedValue] = set()
    for value in values:
        needed = [one for one in value.operands if isinstance(one, PlacedValue)]
        if value.step.op == GIVEN or any(one in found for one in needed):
            found.add(value)
    return found
