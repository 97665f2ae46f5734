"""Running sums of outer products (linear attention, state-space layers with a decay for each head) in chunks.

Step by step, a whole matrix would be brought up to date for each vector. For a chunk of steps the same is products
of matrices: what queries see of the chunk's own keys are scores under a triangle, what they see of the steps before
is a product with the state, and the keys and values of the chunk together make the next state. A decay is a
number for each step and state; from one step to another it is the product of those between, so zeros are no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from typing import Any

from tilesmith.playbook.graph.loops import Loop
from tilesmith.playbook.graph.placement import Place, PlacedOutput, PlacedValue, TilePosition
from tilesmith.playbook.graph.steps import CONSTANT, GIVEN, LEAF, REDUCTIONS, SCANS, DimMap, KernelStep
from tilesmith.playbook.graph.symbols import Dim, SymbolicShape
from tilesmith.playbook.recipe import Region, RegionText, Tuning
from tilesmith.playbook.recipes.loops.chunk_writing import ChunkWriter, Tiles
from tilesmith.playbook.recipes.loops.recurrence import Recurrence, find_recurrence
from tilesmith.playbook.recipes.loops.steps import LoopLowering, LoopPlacer
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.formula import write_formula
from tilesmith.playbook.writing.fused_kernel import fuse

_LEAST_SIZE, _MOST_DEPTH, _LEAST_STEPS = 16, 128, 32
"""Columns of keys and of values that a tensor core takes, of keys that fit on chip, and steps worth a chunk."""
_SIZES = (
    *((16, 32, 4, 1), (16, 32, 8, 1), (16, 64, 8, 1), (16, 16, 4, 1)),
    *((16, 64, 4, 1), (32, 32, 4, 1), (32, 32, 8, 1), (16, 32, 4, 2)),
)
"""Steps of a chunk, columns of values, warps, stages."""
_MOST_STATE = 512
"""Numbers of a state that a warp has in registers, beside what becomes several numbers each."""
_LEAST_CHUNKS, _MOST_SEGMENTS = 8, 32
"""Of a segment, and of a sequence: whoever needs a state puts together those of all segments before."""


class ChunkPlacer(LoopPlacer):
    """Places on a tile with the steps of a chunk as rows. `rows` is the number of a state."""

    recurrence: Recurrence

    def size(self, dims: Sequence[Dim]) -> str:
        found = super().size(dims)
        return "K" if found == "N" and self.trail.name == "depth" else found

    def at_tile(self, factors: Sequence[Any], name: str) -> PlacedValue | None:
        """A product of values that may lack dimensions, and lie in their own ways; None if there is none."""
        steps = [
            one
            if isinstance(one, KernelStep)
            else KernelStep(
                self.low.free_name(name), CONSTANT, (), SymbolicShape((), ()), "float32", {"value": one}
            )
            for one in factors
        ]
        placed = [self.place(one, self._place_of(one.form)) for one in steps]
        return reduce(lambda a, b: self._times(a, b, name), placed) if placed else None

    def _times(self, a: PlacedValue, b: PlacedValue, name: str) -> PlacedValue:
        lead, trail = (a.place.lead or b.place.lead), (a.place.trail or b.place.trail)
        place = Place((), tuple(dict.fromkeys((*a.place.guards, *b.place.guards))), lead, trail)
        form, dtype = SymbolicShape((), ()), self.recurrence.made.dtype
        step = KernelStep(self.low.free_name(name), "mul", (a.step, b.step), form, dtype)
        self.values.append(PlacedValue(self.name_of(step), step, place, (a, b), max(a.level, b.level)))
        return self.values[-1]

    def _place_of(self, form: SymbolicShape) -> Place:
        """Where the tile is along the dimensions of a value."""
        dims = [self.symbols.canonical(dim) for dim in form.dims]
        indices = self.indices.digits((*self.leads, self.trail), (*self.rows, *self.columns))
        parts = {axis: part for index in indices for part in index for axis in part.axes}
        step = self.index_by(self.low.along, DimMap(None, taken=self.low.place), Place((), (), None, None))
        parts |= {axis: part for part in step for axis in part.axes}
        if not {axis for dim in dims for axis in dim} <= parts.keys():
            raise Unmatched("multiplies what a state has no dimension for")
        return self.make_place([tuple(parts[axis] for axis in dim) for dim in dims], ())

    def output(self, step: KernelStep) -> PlacedOutput:
        if step is not self.recurrence.made:
            return super().output(step)
        return PlacedOutput(PlacedValue("", step, Place((), (), None, None), (), 0), "")  # the last state

    def _once(self, step: KernelStep, place: Place) -> PlacedValue:
        if step is self.recurrence.state:
            raise Unmatched("needs its state otherwise")
        if step is not self.recurrence.mixed:
            return super()._once(step, place)
        if place.guards or self.flat_index(place.indices) != self.flat_index(self._place_of(step.form).indices):
            raise Unmatched("moves what it takes of a state")
        self.values.append(PlacedValue(self.name_of(step), replace(step, op=GIVEN), place, (), 0))
        return self.values[-1]


@dataclass(frozen=True, eq=False)
class ChunkMatch:
    region: Region
    loop: Loop
    low: LoopLowering
    kernel_type = "scan"
    is_worth_it = True

    @property
    def name(self) -> str:
        return self._writer.fused.name

    @cached_property
    def _writer(self) -> ChunkWriter:
        low, found = self.low, find_recurrence(self.loop, self.low)
        sizes = [low.symbols.size(dim) for dim in (found.depth, found.width)]
        if self.loop.steps < _LEAST_STEPS or min(sizes) < _LEAST_SIZE or sizes[0] > _MOST_DEPTH:
            raise Unmatched("has states that are too small, or too large, for products of matrices")
        start, ordered = found.start, (found.width, found.depth) if found.is_turned else (found.depth, found.width)
        is_given = [*map(low.symbols.canonical, start.form.dims)] == [*found.rows, *ordered]
        if not (start.op == LEAF and is_given) and not isinstance(start.options.get("value"), int | float):
            raise Unmatched("computes the state that it begins with")
        inner, placer = (
            ChunkPlacer(low.symbols, TilePosition("rows", name, 1), found.rows, [dim])
            for name, dim in (("depth", found.depth), ("cols", found.width))
        )
        for one in (inner, placer):
            one.low, one.recurrence = low, found
        placer.sizes = inner.sizes
        queries, keys = (inner.at_tile(one, name) for one, name in ((found.queries, "query"), (found.keys, "key")))
        values, decay = (
            placer.at_tile(one, name) for one, name in ((found.values, "value"), (found.decays, "decay"))
        )
        operands = (start,) if start.op == LEAF else ()
        fused = fuse(low, placer, replace(self.region, graph=self.loop.rolled), operands, "scan", inner)
        if any(one.step.op in (*REDUCTIONS, *SCANS) for one in placer.values):
            raise Unmatched("reduces what it takes of a state")
        assert queries is not None
        assert keys is not None
        assert values is not None
        return ChunkWriter(fused, inner, found, Tiles(queries, keys, values, decay), low.along)

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        depth = self.low.symbols.size(self._writer.recurrence.depth)
        longest = 16 if self._writer.tiles.decay else 64  # there is a decay for every two steps, and each between
        fitting = [one for one in _SIZES if depth * one[1] <= _MOST_STATE * one[2] and one[0] <= longest]
        return tuple(dict.fromkeys(self._tuning(*one) for one in fitting))

    def _tuning(self, chunk: int, columns: int, warps: int, stages: int) -> Tuning:
        """As many segments as it takes to keep all of a GPU busy."""
        found, size = self._writer.recurrence, self.low.symbols.size
        chunk, columns = (
            min(one, 1 << (size - 1).bit_length())
            for one, size in ((chunk, self.loop.steps), (columns, size(found.width)))
        )
        programs = prod(map(size, found.rows)) * -(-size(found.width) // columns)
        gpu, segments = self.region.survey.gpu, 1
        most = min(self.loop.steps // (_LEAST_CHUNKS * chunk), _MOST_SEGMENTS)
        while 2 * segments <= most and programs * segments < (gpu.multiprocessors if gpu else 100):
            segments *= 2
        names = ("CHUNK", "BLOCK_N", "SEGMENTS", "NUM_WARPS", "NUM_STAGES")
        return Tuning(tuple(zip(names, (chunk, columns, segments, warps, stages), strict=True)))

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        knob, least, most = {"grid": ("SEGMENTS", 1, _MOST_SEGMENTS), "memory": ("NUM_STAGES", 1, 3)}.get(
            stage, ("NUM_WARPS", 4, 8)
        )
        values = (tuning[knob] * 2, tuning[knob] // 2)
        return tuple(tuning.changed(knob, value) for value in values if least <= value <= most)

    def strategy(self, tuning: Tuning) -> str:
        told = (
            f"A program of {tuning['NUM_WARPS']} warps has {tuning['BLOCK_N']} columns of a state on chip and goes "
            f"through chunks of {tuning['CHUNK']} steps, as products on the tensor cores."
        )
        if tuning["SEGMENTS"] == 1:
            return told
        return (
            f"{told} The steps are cut into {tuning['SEGMENTS']} segments, of which a first pass finds the states."
        )

    @property
    def advice(self) -> tuple[str, str]:
        return self.strategy(self.tunings[0]), "one kernel that goes step by step, with the state in registers"

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        fused = self._writer.fused
        title = f"{fused.title} in chunks of steps, as products of matrices."
        text = fused.text(title, self.strategy(tuning), tuning.prefixed(prefix), self._writer.write(prefix))
        before, after = self.loop.states[0]
        told = f"    next {self.low.step(before).name} = {write_formula(self.low, after)}"
        return replace(text, formulas=(told, *text.formulas))
