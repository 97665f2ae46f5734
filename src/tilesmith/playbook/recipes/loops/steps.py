"""One step of a loop as steps of a kernel, placed on the tile of states that a program carries."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from tilesmith.playbook.graph.loops import JOIN, SELECT, STATE, Loop
from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.moves import make_move, same_places, with_dim
from tilesmith.playbook.graph.operators import operator_name
from tilesmith.playbook.graph.placement import Place, PlacedOutput, PlacedValue, Placer
from tilesmith.playbook.graph.reductions import make_reduction
from tilesmith.playbook.graph.steps import CONSTANT, GIVEN, LEAF, DimMap, KernelStep
from tilesmith.playbook.graph.symbols import Dim, SymbolicShape
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Node

STEP = "step"
VECTOR_PRODUCTS = {"einsum", "matmul", "bmm", "mv"}
"""Products that a step may have, where nothing but sums along a state is left of them."""
_SCALAR = SymbolicShape((), ())


class LoopLowering(Lowering):
    """Steps of a rolled graph. Whatever is selected at the step's place is read there."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.place = KernelStep(STEP, GIVEN, (), _SCALAR, "int32")
        self.starts: dict[str, KernelStep] = {}
        """What the states are at first, by their names in the graph."""
        self._places: list[Dim] = []
        super().__init__(loop.rolled, VECTOR_PRODUCTS)
        for before, after in loop.states:
            state, next_one = self.step(before), self.step(after)
            if state.form.shape != next_one.form.shape or state.dtype != next_one.dtype or next_one.op == GIVEN:
                raise Unmatched("carries something that changes its form from step to step")
            self.symbols.broadcast([next_one.form, state.form])

    @property
    def along(self) -> Dim:
        """The dimension that steps go along."""
        if not self._places:
            raise Unmatched("has a loop that goes along no tensor")
        return self._places[0]

    def _lowered(self, node: Node) -> KernelStep | tuple[KernelStep, ...]:
        if node.op == STATE:
            return self._state(node)
        if node.op == SELECT:
            return self._selected(node)
        if node.op == JOIN:
            return self._joined(node)
        kind = operator_name(node)
        if kind == "einsum":
            return self._einsum(node)
        return self._vector_product(node) if kind in VECTOR_PRODUCTS else super()._lowered(node)

    def _state(self, node: Node) -> KernelStep:
        start = self.operand(node.args[0])
        name = self.free_name(f"state_{node.name}")
        form = start.form
        if start.op == CONSTANT:  # of any form: whoever takes the state says where its sizes come from
            start, form = replace(start, form=_SCALAR), self.symbols.leaf(name, start.form.shape)
        self.starts[node.name] = start
        return KernelStep(name, GIVEN, (), form, str(node.dtype))

    def _selected(self, node: Node) -> KernelStep:
        step, dim, keeps = self.operand(node.args[0]), node.args[1], node.args[3]
        return self.at_step(step, dim % step.form.rank, node.name, keeps)

    def at_step(self, step: KernelStep, dim: int, name: str, keeps: bool = False) -> KernelStep:
        """A slice of a tensor at the step's place."""
        if step.form.shape[dim] != self._loop.steps:
            raise Unmatched("goes along a part of a dimension step by step")
        self._places.append(step.form.dims[dim])
        along = [SymbolicShape((self._loop.steps,), (one,)) for one in self._places]
        self.symbols.broadcast(along)
        here = DimMap(None, taken=self.place)
        if keeps:
            maps = same_places(step)
            form = with_dim(step.form, dim, 1, ())
        else:
            maps = [DimMap(one - (one > dim)) for one in range(step.form.rank)]
            shape, dims = step.form.shape, step.form.dims
            form = SymbolicShape((*shape[:dim], *shape[dim + 1 :]), (*dims[:dim], *dims[dim + 1 :]))
        maps[dim] = here
        return make_move(self, step, form, maps, name)

    def _joined(self, node: Node) -> KernelStep:
        step, dim, is_there = self.operand(node.args[0]), node.args[1], node.args[2]
        shape, dims = step.form.shape, step.form.dims
        skipped = dim + 1 if is_there else dim
        form = SymbolicShape(
            (*shape[:dim], self._loop.steps, *shape[skipped:]), (*dims[:dim], self.along, *dims[skipped:])
        )
        maps = [DimMap(one + (not is_there and one >= dim)) for one in range(step.form.rank)]
        moved = make_move(self, step, form, maps, node.name)
        return replace(moved, options=moved.options | {"steps_along": dim})

    def _einsum(self, node: Node) -> KernelStep:
        """Everything multiplied with everything, and a sum."""
        given, _, wanted = str(node.args[0]).replace(" ", "").partition("->")
        letters = given.split(",")
        if "." in given or "->" not in node.args[0] or any(len(set(one)) < len(one) for one in letters):
            raise Unmatched(f"sums by einsum ({given}->{wanted})")
        order = [*wanted, *dict.fromkeys(one for one in given if one not in f"{wanted},")]
        factors = [
            self._spread(self.operand(one), [order.index(letter) for letter in own], len(order))
            for one, own in zip(node.args[1], letters, strict=True)
        ]
        return self._summed(factors, tuple(range(len(wanted), len(order))), node)

    def _vector_product(self, node: Node) -> KernelStep:
        """Of a matrix and a vector, or of a row or column: nothing is used twice."""
        left, right = (self.operand(one) for one in node.args[:2])
        if right.form.rank == 1:
            missing = left.form.rank - 1
            factors = [left, self._spread(right, [missing], left.form.rank)]
            return self._summed(factors, (missing,), node)
        if left.form.rank < 2 or 1 not in (left.form.shape[-2], right.form.shape[-1]):
            raise Unmatched("multiplies matrices in a loop")
        rank = max(left.form.rank, right.form.rank) + 1
        factors = [
            self._spread(left, [*range(rank - left.form.rank - 1, rank - 1)], rank),
            self._spread(right, [*range(rank - right.form.rank - 1, rank - 3), rank - 2, rank - 1], rank),
        ]
        return self._summed(factors, (rank - 2,), node)

    def _spread(self, step: KernelStep, places: list[int], rank: int) -> KernelStep:
        """Its dimensions at these places among others of size one."""
        shape, dims = [1] * rank, [()] * rank  # type: tuple[list[int], list[Dim]]
        for own, place in enumerate(places):
            shape[place], dims[place] = step.form.shape[own], step.form.dims[own]
        form = SymbolicShape(tuple(shape), tuple(dims))
        return make_move(self, step, form, [DimMap(place) for place in places], f"{step.name}_spread")

    def _summed(self, factors: list[KernelStep], axes: tuple[int, ...], node: Node) -> KernelStep:
        name, dtype = node.name, str(node.dtype)
        product = reduce(lambda a, b: self.pointwise("mul", (a, b), f"{name}_product", dtype), factors)
        if not axes:
            return product
        return make_reduction(self, "sum", product, axes, name=name, dtype=dtype, keep=False)


class LoopPlacer(Placer):
    """Places on a tile that has no dimension for the steps: what has one is placed where the step is."""

    low: LoopLowering

    def output(self, step: KernelStep) -> PlacedOutput:
        along = self.symbols.canonical(self.low.along)
        found = [i for i, dim in enumerate(step.form.dims) if self.symbols.canonical(dim) == along]
        if not found:
            return super().output(step)
        if len(found) > 1:
            raise Unmatched("gives something for every pair of steps")
        value = super().output(self.low.at_step(step, found[0], f"{step.name}_now")).value
        written = KernelStep(self.low.free_name(f"{step.name}_written"), LEAF, (), step.form, step.dtype)
        target = super().output(self.low.at_step(written, found[0], written.name)).value
        self.values.remove(target)  # nobody reads it: its address is where the value goes
        return PlacedOutput(value, target.text)

    def first(self, step: KernelStep) -> PlacedValue:
        """What a state is before the loop."""
        return self.place(step, Place((), (), None, None)) if step.form is _SCALAR else super().output(step).value

    def _once(self, step: KernelStep, place: Place) -> PlacedValue:
        if step.op == GIVEN and step.form.rank:
            own = super().output(replace(step, op=LEAF, name=self.low.free_name(f"{step.name}_whole"))).value
            self.values.remove(own)
            if place.guards or self.flat_index(place.indices) != own.text:
                raise Unmatched("moves elements of a state")
            place = own.place
        return super()._once(step, place)

    def _before_move(self, step: KernelStep, place: Place) -> PlacedValue:
        along: Any = step.options.get("steps_along")
        if along is not None and self.indices.write(place.indices[along]) != STEP:
            raise Unmatched("moves results of a loop along its steps")
        return super()._before_move(step, place)
