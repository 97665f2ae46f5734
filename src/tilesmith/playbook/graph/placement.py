"""Which element of every tensor a program needs: steps placed on the tile that a program computes.

A tile has rows (the leading dimensions, flattened) and columns (the trailing ones). A value is placed by two
index expressions: ("row", "cols") for a whole tile, ("row", None) for one number per row, (None, "cols") for a
bias. Where broadcasting keeps some dimensions and repeats others, an index is arithmetic: `offs // D2 % D1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tilesmith.playbook.graph.steps import LEAF, REDUCTIONS, TRANSPOSED, VIEW, KernelStep
from tilesmith.playbook.graph.symbols import Dim, Symbols
from tilesmith.playbook.unmatched import Unmatched


@dataclass(frozen=True)
class TilePosition:
    lead: str | None
    """Index along the rows; None where the value is the same for all of them."""
    trail: str | None
    columns: int
    """How many trailing dimensions of the value are columns."""


@dataclass(frozen=True, eq=False)
class PlacedValue:
    """A step at a place: one variable of the kernel."""

    name: str
    step: KernelStep
    place: TilePosition
    operands: tuple[Any, ...]
    level: int
    """How many reductions, one after the other, must be over before it can be computed."""

    @property
    def is_wide(self) -> bool:
        return self.place.trail is not None


class Placer:
    """Places steps, each at most once per place, and collects the sizes that index arithmetic needs."""

    def __init__(self, symbols: Symbols, whole: TilePosition, rows: Sequence[Dim], columns: Sequence[Dim]) -> None:
        self.symbols, self._whole = symbols, whole
        self.rows, self.columns = tuple(rows), tuple(columns)
        self.values: list[PlacedValue] = []
        """In an order in which they can be computed."""
        self.sizes: dict[str, Dim] = {}
        self._placed: dict[tuple[KernelStep, str | None, str | None], PlacedValue] = {}
        self._alike: dict[tuple[Any, ...], PlacedValue] = {}
        self._names: set[str] = set()

    def output(self, step: KernelStep) -> PlacedValue:
        """A result: a whole tile, or one number per row."""
        dims = step.form.dims
        for columns in range(len(dims) + 1):
            split = len(dims) - columns
            if not self.symbols.same(dims[:split], self.rows):
                continue
            if self.symbols.same(dims[split:], self.columns):
                return self.place(step, TilePosition(self._whole.lead, self._whole.trail, columns))
            if self._whole.trail == "cols" and not any(dims[split:]):
                return self.place(step, TilePosition(self._whole.lead, None, columns))
        raise Unmatched(f"returns shape {step.form.shape}, which does not fit the tiles of one kernel")

    def place(self, step: KernelStep, place: TilePosition) -> PlacedValue:
        if step.op == TRANSPOSED:
            raise Unmatched("moves elements from one row to another")
        key = (step, place.lead, place.trail)
        if key not in self._placed:
            operands = tuple(self._operand(step, one, place) for one in step.operands)
            is_reduction = step.op in REDUCTIONS
            level = max((one.level for one in operands if isinstance(one, PlacedValue)), default=0) + is_reduction
            if step.op == VIEW:
                self._placed[key] = operands[0]
            else:
                self._placed[key] = self._once(PlacedValue(self._name(step), step, place, operands, level))
        return self._placed[key]

    def _once(self, value: PlacedValue) -> PlacedValue:
        """The value, or an earlier one that is computed alike: people write `x - mean` twice."""
        step, place = value.step, value.place
        operands = tuple(one if isinstance(one, PlacedValue) else repr(one) for one in value.operands)
        recipe = (step.op, operands, repr(step.options), step.dtype, place.lead, place.trail)
        if step.op == LEAF or recipe not in self._alike:
            self._alike[recipe] = value
            self.values.append(value)
            if step.op == LEAF:
                self.address(value)  # makes known the sizes it needs
            return value
        return self._alike[recipe]

    def address(self, value: PlacedValue) -> str | None:
        """Where a leaf's elements lie, counted from its pointer; None for its only element."""
        lead, trail = value.place.lead, value.place.trail
        if lead is None or trail is None:
            return lead or trail
        dims = value.step.form.dims
        return f"{_factor(lead)} * {self.size(dims[len(dims) - value.place.columns :])} + {trail}"

    def size(self, dims: Sequence[Dim]) -> str:
        """The name of a product of dimensions as a size known to the kernel."""
        if self._whole.trail == "cols" and self.symbols.same(dims, self.columns):
            return "N"
        flat = self.symbols.canonical(tuple(axis for dim in dims for axis in dim))
        sole = len({leaf for leaf, _ in self.symbols.sizes}) == 1 or len({leaf for leaf, _ in flat}) == 1
        name = "_".join(f"D{axis}" if sole else f"{leaf.upper()}_D{axis}" for leaf, axis in flat)
        if self.sizes.get(name, flat) != flat:
            name = "_".join(f"{leaf.upper()}_D{axis}" for leaf, axis in flat)
        while self.sizes.get(name, flat) != flat:  # `x` and `X` are two tensors
            name = f"OF_{name}"
        self.sizes[name] = flat
        return name

    def _name(self, step: KernelStep) -> str:
        name, number = step.name, 1
        while name in self._names:
            name, number = f"{step.name}_{number}", number + 1
        self._names.add(name)
        return name

    def _operand(self, step: KernelStep, operand: Any, place: TilePosition) -> Any:
        if not isinstance(operand, KernelStep):
            return operand
        if step.op in REDUCTIONS:
            return self._reduced(step, operand, place)
        if step.op == VIEW:
            return self.place(operand, self._before_view(step, operand, place))
        return self.place(operand, self._broadcast(step, operand, place))

    def _reduced(self, step: KernelStep, operand: KernelStep, place: TilePosition) -> PlacedValue:
        dims, count = operand.form.dims, step.options["count"]
        split = len(dims) - count
        fits = self.symbols.same(dims[split:], self.columns) and self.symbols.same(dims[:split], self.rows)
        if not fits:
            raise Unmatched("reduces over rows of different lengths")
        if place.lead != self._whole.lead:
            raise Unmatched("needs the result of one row in others")
        return self.place(operand, TilePosition(self._whole.lead, self._whole.trail, count))

    def _before_view(self, step: KernelStep, operand: KernelStep, place: TilePosition) -> TilePosition:
        """A reshape keeps the order of the elements, so the place stays if the rows are cut at the same spot."""
        split = step.form.rank - place.columns
        lead, trail, dims = step.form.dims[:split], step.form.dims[split:], operand.form.dims
        for columns in range(len(dims) + 1):
            cut = len(dims) - columns
            if self.symbols.same(dims[:cut], lead) and self.symbols.same(dims[cut:], trail):
                return TilePosition(place.lead, place.trail, columns)
        raise Unmatched("moves elements from one row to another in a reshape")

    def _broadcast(self, step: KernelStep, operand: KernelStep, place: TilePosition) -> TilePosition:
        missing = step.form.rank - operand.form.rank
        own = (*((),) * missing, *operand.form.dims)
        split = step.form.rank - place.columns
        whole = step.form.dims
        return TilePosition(
            self.index(place.lead, whole[:split], own[:split]),
            self.index(place.trail, whole[split:], own[split:]),
            min(place.columns, operand.form.rank),
        )

    def index(self, index: str | None, whole: Sequence[Dim], own: Sequence[Dim]) -> str | None:
        """The element of an operand with dimensions `own` that belongs to element `index` of the whole."""
        if index is None or not any(own):
            return None
        if all(bool(mine) == bool(theirs) for mine, theirs in zip(own, whole, strict=True)):
            return index
        pairs = [(mine, theirs) for mine, theirs in zip(own, whole, strict=True) if theirs]
        terms: list[str] = []
        remaining = list(pairs)
        for kept, group in groupby(pairs, key=lambda pair: bool(pair[0])):
            run = [theirs for _, theirs in group]
            is_first = len(remaining) == len(pairs)
            remaining = remaining[len(run) :]
            if kept:
                inner = [theirs for _, theirs in remaining]
                term = index if not inner else f"{_factor(index)} // {self.size(inner)}"
                term = term if is_first else f"{_factor(term)} % {self.size(run)}"
                stride = [mine for mine, _ in remaining if mine]
                terms.append(f"{_factor(term)} * {self.size(stride)}" if stride else term)
        return terms[0] if len(terms) == 1 else " + ".join(f"({term})" for term in terms)


def _factor(index: str) -> str:
    """An index that may be multiplied and divided."""
    return f"({index})" if " + " in index else index
