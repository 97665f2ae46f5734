"""Index arithmetic: which element of an operand belongs to an element of a result.

A program counts the elements of its tile with variables (`offs`, or `rows` and `cols`). A variable is a number in
mixed radix whose digits are the axes of the tile: the index along one dimension is one digit, or several in a row.
So an index is a list of parts, most significant first. Operators that move elements change the parts: a transposed
tensor has its digits in another order, a slice adds a number, a flip subtracts from one. In the end the parts of
all dimensions, times their strides, are an address, in which digits that stand side by side become one again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilesmith.playbook.graph.symbols import Dim, Symbols

Offset = tuple[tuple[int, Dim], ...]
"""A sum of numbers, each times a product of axes."""
SizeName = Callable[[Sequence[Dim]], str]
"""How the kernel calls a product of dimensions."""


@dataclass(frozen=True)
class Variable:
    """What counts the elements of a tile."""

    name: str
    axes: Dim
    """Its digits, most significant first."""


@dataclass(frozen=True)
class Digits:
    """The digits `first` to `last` of a variable."""

    variable: Variable
    first: int
    last: int

    @property
    def axes(self) -> Dim:
        return self.variable.axes[self.first : self.last]


@dataclass(frozen=True)
class Computed:
    """An expression that is no digit any more."""

    text: str
    variables: frozenset[str]
    values: tuple[Any, ...] = ()
    """Placed values that it names."""


@dataclass(frozen=True)
class Part:
    """One place of an index: `scale * source + offset`."""

    axes: Dim
    """Their product is the number of values it may take."""
    source: Digits | Computed | None
    scale: int = 1
    offset: Offset = ()

    @property
    def variables(self) -> frozenset[str]:
        if isinstance(self.source, Computed):
            return self.source.variables
        return frozenset([self.source.variable.name]) if self.source else frozenset()

    @property
    def values(self) -> tuple[Any, ...]:
        return self.source.values if isinstance(self.source, Computed) else ()

    @property
    def is_plain(self) -> bool:
        return self.scale == 1 and not self.offset


Index = tuple[Part, ...]
"""Along one dimension; empty where its size is one."""


@dataclass(frozen=True)
class _Term:
    source: Digits | Computed
    factor: int
    stride: Dim


class IndexArithmetic:
    """Makes indices and writes them, with the sizes of one kernel."""

    def __init__(self, symbols: Symbols, size_name: SizeName) -> None:
        self._symbols, self._size_name = symbols, size_name

    def digits(self, variables: Sequence[Variable], dims: Sequence[Dim]) -> list[Index]:
        """The index along every dimension of a tile that variables count, one after the other."""
        every = (Digits(one, place, place + 1) for one in variables for place in range(len(one.axes)))
        return [tuple(Part((axis,), next(every)) for axis in self._symbols.canonical(dim)) for dim in dims]

    def is_within(self, part: Part) -> bool:
        """Whether it takes the values of its dimension and no others, whatever was moved elsewhere."""
        if not isinstance(part.source, Digits) or not part.is_plain:
            return False
        return self._symbols.normal(1, part.axes) == self._symbols.normal(1, part.source.axes)

    def moved(self, index: Index, dim: Dim, scale: int, offset: Offset) -> Index:
        """`scale * index + offset` along a dimension of another size."""
        axes = self._symbols.canonical(dim)
        if not axes:
            return ()
        if scale == 1 and not offset and self._symbols.normal(1, axes) == self._symbols.normal(1, _axes(index)):
            return index
        terms, more = self._terms(index)
        if not terms:
            return (Part(axes, None, 1, (*more, *offset)),)
        if len(terms) == 1 and not terms[0].stride:
            (term,) = terms
            shifted = tuple((scale * count, size) for count, size in more)
            return (Part(axes, term.source, scale * term.factor, (*shifted, *offset)),)
        return (Part(axes, self.computed(index), scale, offset),)

    def computed(self, index: Index, form: str = "", size: str = "") -> Computed:
        """An index as one expression; `form` says what is done with it."""
        variables = frozenset[str]().union(*(part.variables for part in index))
        held = tuple(value for part in index for value in part.values)
        written = self.write(index)
        return Computed(form.format(grouped(written), size) if form else written, variables, held)

    def regrouped(self, indices: Iterable[Index], dims: Sequence[Dim]) -> list[Index]:
        """The indices of a tensor with other dimensions, but the same elements in the same order."""
        waiting = [part for index in indices for part in index]
        targets = [self._symbols.canonical(dim) for dim in dims]
        found: list[Index] = []
        group: list[Dim] = []
        taken: list[Part] = []
        for target in targets:
            group.append(target)
            while waiting and self._size(taken) < self._product(group):
                taken.append(waiting.pop(0))
            if self._size(taken) == self._product(group):
                found += self._shared_out(tuple(taken), group)
                group, taken = [], []
        return found

    def _shared_out(self, parts: Index, targets: Sequence[Dim]) -> list[Index]:
        """Parts of one number, for dimensions whose product is as large."""
        wide = [target for target in targets if target]
        if len(wide) == 1:
            return [parts if target else () for target in targets]
        found: list[Index] = []
        whole = self.computed(parts)
        first = True
        for position, target in enumerate(targets):
            if not target:
                found.append(())
                continue
            text = grouped(whole.text)
            below = [axis for later in targets[position + 1 :] for axis in later]
            text = f"{text} // {self._size_name([tuple(below)])}" if below else text
            text = text if first else f"{text} % {self._size_name([target])}"
            first = False
            found.append((Part(target, replace(whole, text=text)),))
        return found

    def write(self, index: Iterable[Part]) -> str:
        """The number that the parts are together."""
        terms, offset = self._terms(tuple(index))
        sums: dict[Any, tuple[int, Dim]] = {}
        for count, size in offset:
            product, axes = self._symbols.normal(count, size)
            before = sums.get(axes, (0, axes))[0]
            sums[axes] = (before + product, axes)
        written = [(term.factor, self._written(term)) for term in terms]
        many = len(written) > 1 or any(count for count, _ in sums.values())
        texts = [(sign, f"({text})" if many and ("//" in text or "%" in text) else text) for sign, text in written]
        for count, axes in sums.values():
            if count:
                name = self._size_name([axes]) if axes else ""
                number = str(abs(count)) if abs(count) != 1 or not axes else ""
                texts.append((count, " * ".join(part for part in (number, name) if part)))
        texts.sort(key=lambda one: one[0] < 0)
        if not texts:
            return "0"
        head = texts[0][1] if texts[0][0] > 0 else f"-{texts[0][1]}"
        return head + "".join(f" {'+' if sign > 0 else '-'} {text}" for sign, text in texts[1:])

    def stride_of(self, index: Iterable[Part], variable: Variable) -> int | None:
        """How far apart two neighbors along a variable's last digit lie; None where that is not regular."""
        terms, _ = self._terms(tuple(index))
        stride = 0
        for term in terms:
            if isinstance(term.source, Computed):
                if variable.name in term.source.variables:
                    return None
            elif term.source.variable == variable and term.source.last == len(variable.axes):
                stride += term.factor * self._symbols.size(term.stride)
        return stride

    def _terms(self, parts: Index) -> tuple[list[_Term], Offset]:
        """A sum of digits times strides, neighbors joined, and what does not depend on the program."""
        terms: list[_Term] = []
        offset: list[tuple[int, Dim]] = []
        for position, part in enumerate(parts):
            stride = _axes(parts[position + 1 :])
            offset += [(count, (*size, *stride)) for count, size in part.offset]
            if part.source is not None:
                self._join(terms, _Term(part.source, part.scale, stride))
        return terms, tuple(offset)

    def _join(self, terms: list[_Term], term: _Term) -> None:
        last = terms[-1] if terms else None
        if last is not None and isinstance(last.source, Digits) and isinstance(term.source, Digits):
            adjacent = last.source.variable == term.source.variable and last.source.last == term.source.first
            wanted = self._symbols.normal(term.factor, (*term.stride, *term.source.axes))
            if adjacent and self._symbols.normal(last.factor, last.stride) == wanted:
                terms[-1] = replace(term, source=replace(term.source, first=last.source.first))
                return
        terms.append(term)

    def _written(self, term: _Term) -> str:
        if isinstance(term.source, Computed):
            text = term.source.text
        else:
            digits = term.source
            below = digits.variable.axes[digits.last :]
            text = digits.variable.name
            text = f"{text} // {self._size_name([below])}" if below else text
            text = f"{text} % {self._size_name([digits.axes])}" if digits.first else text
        if abs(term.factor) == 1 and not term.stride:
            return text if term.factor > 0 or "//" in text or "%" in text else grouped(text)
        number = [str(abs(term.factor))] if abs(term.factor) != 1 else []
        name = [self._size_name([term.stride])] if term.stride else []
        text = grouped(text) if isinstance(term.source, Computed) else text
        return " * ".join([text, *number, *name])

    def _size(self, parts: Sequence[Part]) -> int:
        return self._symbols.size(_axes(parts))

    def _product(self, dims: Sequence[Dim]) -> int:
        return self._symbols.size(tuple(axis for dim in dims for axis in dim))


def grouped(text: str) -> str:
    """An expression that may be multiplied and divided."""
    return f"({text})" if " " in text else text


def _axes(parts: Iterable[Part]) -> Dim:
    return tuple(axis for part in parts for axis in part.axes)
