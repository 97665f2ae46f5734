"""Which element of every tensor a program needs: steps placed on the tile that a program computes.

A tile has rows (the leading dimensions, flattened) and columns (the trailing ones), each counted by a variable. A
value is placed by an index along each of its dimensions (`indices.py`). From the outputs back to the inputs every
operator says which elements of its operands it needs: a pointwise operator the same, a view other ones.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tilesmith.playbook.graph.indices import Computed, Index, IndexArithmetic, Part, Variable
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import (
    CONSTANT,
    GIVEN,
    INDEX,
    LEAF,
    MOVE,
    PRODUCT,
    REDUCTIONS,
    SCANS,
    VIEW,
    DimMap,
    KernelStep,
)
from tilesmith.playbook.graph.symbols import Dim, Symbols
from tilesmith.playbook.unmatched import Unmatched


@dataclass(frozen=True)
class TilePosition:
    """The variables that count a tile."""

    lead: str | None
    """Along the rows; None for a tile without."""
    trail: str
    columns: int
    """How many trailing dimensions of the value are columns."""
    outer: int = 0
    """How many leading dimensions of the rows `outer` counts: each program has one of them."""


@dataclass(frozen=True)
class Place:
    """Which elements of a value a program needs."""

    indices: tuple[Index, ...]
    guards: tuple[PlacedValue, ...]
    """Where one of these is false, the index is no good, and nobody looks at the element."""
    lead: str | None
    """The variable along the rows; None where the value is the same for all of them."""
    trail: str | None


class PlacedOutput(NamedTuple):
    value: PlacedValue
    address: str
    """Where its elements go, counted from the pointer."""


@dataclass(frozen=True, eq=False)
class PlacedValue:
    """A step at a place: one variable of the kernel."""

    name: str
    step: KernelStep
    place: Place
    operands: tuple[Any, ...]
    level: int
    """How many reductions, one after the other, must be over before it can be computed."""
    text: str = ""
    """Of a leaf: its address, counted from the pointer. Of an index: its value."""

    @property
    def is_wide(self) -> bool:
        return self.place.trail is not None


class Placer:
    """Places steps, each at most once per place, and collects the sizes that index arithmetic needs."""

    def __init__(
        self,
        symbols: Symbols,
        whole: TilePosition,
        rows: Sequence[Dim],
        columns: Sequence[Dim],
        turns_rows: bool = False,
    ) -> None:
        """`turns_rows`: an output may have the dimensions of the rows in another order."""
        self.symbols, self._whole, self._turns_rows = symbols, whole, turns_rows
        self.rows, self.columns = tuple(rows), tuple(columns)
        self.values: list[PlacedValue] = []
        """In an order in which they can be computed."""
        self.sizes: dict[str, Dim] = {}
        self.indices = IndexArithmetic(symbols, self.size)
        outer, inner = self._axes(rows[: whole.outer]), self._axes(rows[whole.outer :])
        self.leads = (Variable("outer", outer), Variable(whole.lead or "", inner))
        self.trail = Variable(whole.trail, self._axes(columns))
        self._placed: dict[tuple[KernelStep, Place], PlacedValue] = {}
        self._alike: dict[tuple[Any, ...], PlacedValue] = {}
        self._names: set[str] = set()

    def output(self, step: KernelStep) -> PlacedOutput:
        """A result: a whole tile, or one number per row."""
        dims, rank = step.form.dims, step.form.rank
        if self.symbols.same(dims, (*self.rows, *self.columns)):
            whole = self._whole_place((*self.rows, *self.columns), range(len(self.rows), self._rank))
            place = replace(whole, indices=tuple(self.indices.regrouped(whole.indices, dims)))
            address = f"{place.lead} * N + {place.trail}" if place.lead else str(place.trail)
            return PlacedOutput(
                self.place(step, place), self.flat_index(whole.indices) if self._whole.outer else address
            )
        among = {i for i, dim in enumerate(dims) if dim and set(self._axes([dim])) <= set(self.trail.axes)}
        for columns in (among, *(set(range(split, rank)) for split in range(rank, -1, -1))):
            kept, reduced = _parted(dims, columns)
            is_narrow = not any(reduced) and any(self.columns) and self._whole.trail != "offs"
            if not self.symbols.same(kept, self.rows) or not (
                is_narrow or self.symbols.same(reduced, self.columns)
            ):
                continue
            place = self._whole_place(dims, columns)
            place = replace(place, trail=None) if is_narrow else place
            return PlacedOutput(self.place(step, place), self.flat_index(place.indices))
        if self._turns_rows and (turned := self._turned(dims)) is not None:
            return PlacedOutput(self.place(step, turned), self.flat_index(turned.indices))
        raise Unmatched(f"returns shape {step.form.shape}, which does not fit the tiles of one kernel")

    def _turned(self, dims: Sequence[Dim]) -> Place | None:
        """The whole tile, for a value that has the axes of the rows in another order."""
        lead, wanted = self.leads[1], self._axes(dims)
        own = (*lead.axes, *self.trail.axes)
        count = len(self.trail.axes)
        if len(set(own)) < len(own) or {*wanted} != {*own} or wanted[-count:] != self.trail.axes:
            return None
        rows = self.indices.digits([lead], [(axis,) for axis in lead.axes])
        columns = self.indices.digits([self.trail], [(axis,) for axis in self.trail.axes])
        found = dict(zip(own, (*rows, *columns), strict=True))
        indices = self.indices.regrouped([found[axis] for axis in wanted], dims)
        return Place(tuple(indices), (), self._whole.lead, self._whole.trail)

    def place(self, step: KernelStep, place: Place) -> PlacedValue:
        key = (step, place)
        if key not in self._placed:
            self._placed[key] = self._once(step, place)
        return self._placed[key]

    def _once(self, step: KernelStep, place: Place) -> PlacedValue:
        """The value, or an earlier one that is computed alike: people write `x - mean` twice."""
        if step.op == VIEW:
            (operand,) = step.operands
            indices = self.indices.regrouped(place.indices, operand.form.dims)  # the order of the elements stays
            return self.place(operand, replace(place, indices=tuple(indices)))
        if step.op == MOVE:
            return self._before_move(step, place)
        if step.op == "sum" and step.operands[0].op == CONSTANT and step.operands[0].dtype == step.dtype:
            return self._sum_of_equals(step, place)
        if step.op == PRODUCT and (place.guards or self.flat_index(place.indices) != self._whole_text):
            raise Unmatched("moves elements of a product")
        operands, text = tuple(self._operand(step, one, place) for one in step.operands), ""
        if step.op == LEAF:
            text, parts = self.flat_index(place.indices), [part for index in place.indices for part in index]
            operands = (*place.guards, *(value for part in parts for value in part.values))
            used = frozenset[str]().union(*(part.variables for part in parts))
            for name in (place.lead, place.trail) if place.guards else ():
                text += f" + {name} * 0" if name and name not in used else ""  # as many addresses as the mask has
        elif step.op == INDEX:
            text = self._index(step, operands, place)
        given = tuple(one if isinstance(one, PlacedValue) else repr(one) for one in operands)
        recipe = (
            step if step.op in (LEAF, PRODUCT, GIVEN) else step.op,
            given,
            repr(step.options),
            step.dtype,
            text,
        )
        if recipe not in self._alike:
            level = max((one.level for one in operands if isinstance(one, PlacedValue)), default=0)
            level += step.op in REDUCTIONS
            self._alike[recipe] = PlacedValue(self.name_of(step), step, place, operands, level, text)
            self.values.append(self._alike[recipe])
        return self._alike[recipe]

    def size(self, dims: Sequence[Dim]) -> str:
        """A product of dimensions as the kernel knows it: a number, or the name of a size."""
        if self._whole.trail != "offs" and self.symbols.same(dims, self.columns):
            return "N"
        number, flat = self.symbols.normal(1, tuple(axis for dim in dims for axis in dim))
        if not flat:
            return str(number)
        name = self._size_name(number, flat)
        self.sizes[name] = self._axes(dims)
        return name

    def _size_name(self, number: int, flat: Dim) -> str:
        times = f"N{number}_" if number != 1 else ""
        known = {leaf for leaf, _ in self.symbols.sizes}
        sole = len(known) == 1 or (len({leaf for leaf, _ in flat}) == 1 and flat[0] not in self.symbols.rules)
        name = times + "_".join(f"D{axis}" if sole else f"{leaf.upper()}_D{axis}" for leaf, axis in flat)
        if not self._means(name, number, flat):
            name = times + "_".join(f"{leaf.upper()}_D{axis}" for leaf, axis in flat)
        while not self._means(name, number, flat):  # `x` and `X` are two tensors
            name = f"OF_{name}"
        return name

    def _means(self, name: str, number: int, flat: Dim) -> bool:
        return name not in self.sizes or self.symbols.normal(1, self.sizes[name]) == self.symbols.normal(
            number, flat
        )

    def _axes(self, dims: Sequence[Dim]) -> Dim:
        return tuple(axis for dim in dims for axis in self.symbols.canonical(dim))

    @property
    def _whole_text(self) -> str:
        columns = range(len(self.rows), self._rank)
        return self.flat_index(self._whole_place((*self.rows, *self.columns), columns).indices)

    @property
    def _rank(self) -> int:
        return len(self.rows) + len(self.columns)

    def flat_index(self, indices: Sequence[Index]) -> str:
        return self.indices.write(part for index in indices for part in index)

    def _whole_place(self, dims: Sequence[Dim], columns: Collection[int]) -> Place:
        """The whole tile, for a value whose dimensions are columns at these positions and rows elsewhere."""
        kept, reduced = _parted(dims, columns)
        lead, trail = iter(self.indices.digits(self.leads, kept)), iter(self.indices.digits([self.trail], reduced))
        indices = tuple(next(trail if i in columns else lead) for i in range(len(dims)))
        return Place(indices, (), self._whole.lead, self._whole.trail)

    def make_place(self, indices: Sequence[Index], guards: tuple[PlacedValue, ...]) -> Place:
        """Where these indices are, and which variables of the tile they need."""
        parts: list[Part] = [part for index in indices for part in index]
        used = frozenset[str]().union(*(part.variables for part in parts))
        used |= {name for guard in guards for name in (guard.place.lead, guard.place.trail) if name}
        lead, trail = self.leads[1].name, self.trail.name
        return Place(tuple(indices), guards, lead if lead in used else None, trail if trail in used else None)

    def index(self, name: str, whole: Sequence[Dim], own: Sequence[Dim]) -> str | None:
        """The element of an operand with dimensions `own` that belongs to element `name` of the whole."""
        indices = self.indices.digits([Variable(name, self._axes(whole))], whole)
        kept = [index if dim else () for index, dim in zip(indices, own, strict=True)]
        return self.flat_index(kept) if any(own) else None

    def name_of(self, step: KernelStep) -> str:
        """A name of its own for a value."""
        name, number = step.name, 1
        while name in self._names:
            name, number = f"{step.name}_{number}", number + 1
        self._names.add(name)
        return name

    def _operand(self, step: KernelStep, operand: Any, place: Place) -> Any:
        if not isinstance(operand, KernelStep):
            return operand
        if step.op in REDUCTIONS:
            return self._reduced(step, operand, place)
        if step.op in SCANS:
            whole = self._whole_place(operand.form.dims, step.options["axes"])
            if place.guards or self.flat_index(place.indices) != self.flat_index(whole.indices):
                raise Unmatched("moves elements of a running sum")
            self._refuse_other_rows(operand, step.options["axes"])
            return self.place(operand, whole)
        return self.place(operand, self._broadcast(operand, place))

    def _reduced(self, step: KernelStep, operand: KernelStep, place: Place) -> PlacedValue:
        self._refuse_other_results(step, operand, place)
        return self.place(operand, self._whole_place(operand.form.dims, step.options["axes"]))

    def _sum_of_equals(self, step: KernelStep, place: Place) -> PlacedValue:
        """One of them, times the length of a row."""
        (operand,) = step.operands
        self._refuse_other_results(step, operand, place)
        length = NamedNumber(float(step.options["length"]), "N", None)
        factors = (replace(operand, form=step.form), length)
        return self.place(KernelStep(step.name, "mul", factors, step.form, step.dtype), place)

    def _refuse_other_results(self, step: KernelStep, operand: KernelStep, place: Place) -> None:
        self._refuse_other_rows(operand, step.options["axes"])
        whole = (
            self.flat_index(self.indices.digits(self.leads, self.rows)) if self._whole.outer else self._whole.lead
        )
        if self.flat_index(place.indices) != (whole or "0"):
            raise Unmatched("needs the result of one row in others")

    def _refuse_other_rows(self, operand: KernelStep, axes: Collection[int]) -> None:
        kept, reduced = _parted(operand.form.dims, axes)
        if not self.symbols.same(reduced, self.columns) or not self.symbols.same(kept, self.rows):
            raise Unmatched("reduces over rows of different lengths")

    def _before_move(self, step: KernelStep, place: Place) -> PlacedValue:
        source, maps, guard = step.operands[0], step.options["maps"], step.options.get("guard")
        guards = place.guards
        if guard is not None:
            guards = tuple(dict.fromkeys((*guards, self.place(guard, self._broadcast(guard, place)))))
        pairs = zip(source.form.dims, maps, strict=True)
        return self.place(source, self.make_place([self.index_by(dim, one, place) for dim, one in pairs], guards))

    def index_by(self, dim: Dim, how: DimMap, place: Place) -> Index:
        """The index along one dimension of the operand of a move."""
        axes = self.symbols.canonical(dim)
        if not axes:
            return ()
        index = () if how.dim is None else place.indices[how.dim]
        if how.taken is not None:
            value = self.place(how.taken, self._broadcast(how.taken, place))
            used = frozenset(name for name in (value.place.lead, value.place.trail) if name)
            index = (Part(axes, Computed(value.name, used, (value,))),)
        index = self.indices.moved(index, axes, how.scale, how.offset)
        return (Part(axes, self.indices.computed(index, how.form, self.size([axes]))),) if how.form else index

    def _index(self, step: KernelStep, operands: tuple[Any, ...], place: Place) -> str:
        """A place along a dimension, or whether it, or the operand, is within bounds."""
        options = step.options
        base = operands[0].name if operands else self._counted(step, place)
        least, most = (options.get(name) for name in ("least", "most"))
        if least is None and most is None:
            return base
        bounds = [(sign, end) for sign, end in ((">=", least), ("<", most)) if end is not None]
        tests = [f"{base} {sign} {self.indices.write([Part((), None, 1, end)])}" for sign, end in bounds]
        return tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)

    def _counted(self, step: KernelStep, place: Place) -> str:
        dim, scale, offset = step.options["dim"], step.options.get("scale", 1), step.options.get("offset", ())
        index = self.indices.moved(place.indices[dim], step.form.dims[dim], scale, offset)
        written = self.indices.write(index)
        return written if index else f"tl.full([], {self.indices.write([Part((), None, 1, offset)])}, tl.int32)"

    def _broadcast(self, operand: KernelStep, place: Place) -> Place:
        """The same elements, where the operand has them; those of a dimension of size one are all the same."""
        missing = len(place.indices) - operand.form.rank
        pairs = zip(operand.form.dims, place.indices[missing:], strict=True)
        indices = [index if dim else () for dim, index in pairs]
        is_good = all(self.indices.is_within(part) for index in indices for part in index)
        return self.make_place(indices, () if is_good else place.guards)


def _parted(dims: Sequence[Dim], columns: Collection[int]) -> tuple[list[Dim], list[Dim]]:
    """Dimensions that are rows, and those that are columns."""
    return [dim for i, dim in enumerate(dims) if i not in columns], [dims[i] for i in sorted(columns)]
