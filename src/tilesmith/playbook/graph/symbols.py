"""Where every size comes from, so that a kernel written for one shape is right for all of them.

A dimension is a product of axes of inputs and parameters: `x.shape[1] * x.shape[2]` is (("x", 1), ("x", 2)), and
a dimension of size one is the empty product. Axes that broadcasting puts side by side are the same axis. Operators
make axes as well: half of another one (`x.shape[1] // 2`), or a number that stood in the code. Traces at other
shapes tell what such a number was computed from. Where they do not and it may have come from a size, the size is
pinned: the kernel is for that size alone, and its launcher says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.numbers.size_expressions import explain
from tilesmith.tasks.numbers.varying import always, is_varying, values_of

Axis = tuple[str, int]
Dim = tuple[Axis, ...]
Sum = tuple[tuple[int, Dim], ...]
"""A sum of numbers, each times a product of axes."""


_PARTS = {"{0} - 1", *(form for by in range(2, 9) for form in (f"{{0}} // {by}", f"-(-{{0}} // {by})"))}
"""Surely no more than the whole."""


@dataclass(frozen=True)
class SymbolicShape:
    """A shape in numbers and in symbols."""

    shape: tuple[int, ...]
    dims: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class SizeRule:
    """The size of an axis that an operator made."""

    template: str | None
    """`{0} // 2` of another dimension; None for a number that stood in the code."""
    source: Dim = ()
    """The dimension it was made from."""
    others: tuple[Dim, ...] = ()
    """More of them: {1} and so on."""
    is_constant: bool = False
    """Whether a number is surely the same for all sizes of the inputs."""
    may_round: bool = False
    """Whether a quotient need not be whole."""


@dataclass
class Symbols:
    """The sizes of all axes, and which axes are the same."""

    sizes: dict[Axis, int] = field(default_factory=dict)
    rules: dict[Axis, SizeRule] = field(default_factory=dict)
    """Of the axes that no tensor has."""
    constants: Collection[int] = ()
    """Numbers that the model keeps as attributes: a dimension of such a size is not computed from others."""
    varies: bool = False
    """Whether traces at other shapes tell which numbers come from sizes: all others stood in the code."""
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    """Sizes that the whole pass has, and a kernel may not."""
    _parents: dict[Axis, Axis] = field(default_factory=dict)
    _factors: dict[Axis, Dim] = field(default_factory=dict)
    _pinned: list[Dim] = field(default_factory=list)
    _cut: set[Axis] = field(default_factory=set)
    """What was made of pinned dimensions: numbers, whatever they are joined with."""
    _is_exact: bool = False
    """Whether some number depends on sizes in a way that nobody knows."""
    bounds: list[tuple[Sum, Dim]] = field(default_factory=list)
    """What must not be larger than a dimension."""
    meant: list[tuple[Axis, ...]] = field(default_factory=list)
    """Axes of tensors that are equal in all traces, one of which a number was: nobody knows which."""

    def leaf(self, name: str, shape: Sequence[int]) -> SymbolicShape:
        self.sizes |= {(name, axis): size for axis, size in enumerate(shape)}
        return SymbolicShape(tuple(shape), tuple(((name, i),) if size != 1 else () for i, size in enumerate(shape)))

    def make(self, axis: Axis, size: int, rule: SizeRule | None = None) -> Dim:
        """A dimension that an operator makes; without a rule, of a number that stood in the code, or that varies
        with the sizes of tensors."""
        if rule is None and is_varying(size):
            rule = self.rule_of(size)
            if size != 1 and (known := self._known(rule)):
                return known
        if size == 1:
            if is_varying(size):
                self.pin_everything()
            elif rule is not None:
                self.pin(rule.source)
            return ()
        while axis in self.sizes:
            axis = (f"{axis[0]}_{axis[1]}", axis[1])
        self.sizes[axis] = size
        self.rules[axis] = rule or SizeRule(None)
        return (axis,)

    def rule_of(self, size: int) -> SizeRule:
        """How a number that varies is computed; everything is pinned where nobody knows."""
        tensors = {axis: own for axis, own in self.sizes.items() if axis not in self.rules and is_varying(own)}
        found = explain(size, tensors | {("self", number): number for number in self.constants})
        if found is None:
            if explain(size, self.elsewhere):
                raise Unmatched("goes by a size that none of its tensors has")
            self.pin_everything()
            return SizeRule(None, is_constant=True)
        self.meant += found.equal
        first, *others = ((axis,) for axis in found.sizes)
        return SizeRule(found.template, first, tuple(others), may_round=found.divisor is None)

    def amount(self, number: int) -> Sum:
        """A number as a sum of products, for index arithmetic."""
        if not is_varying(number):
            return ((number, ()),) if number else ()
        rule = self.rule_of(number)
        known = self._known(rule)
        if not known:
            axis = ("offset", sum(name == "offset" for name, _ in self.rules))
            self.sizes[axis], self.rules[axis], known = number, rule, (axis,)
        return ((1, known),)

    def _known(self, rule: SizeRule) -> Dim:
        """The axis that has this size already; none for a number."""
        if rule.template == "{0}":
            return rule.source
        return () if rule.template is None else tuple(axis for axis, one in self.rules.items() if one == rule)[:1]

    def least(self, dim: Dim, size: Sum) -> None:
        """The kernel is right only where this dimension is so large."""
        parts = {axis for _, one in size for axis in one}
        rules = [self.rules[axis] for axis in parts if axis in self.rules]
        if not any(rule.source == dim and rule.template in _PARTS for rule in rules):
            self.bounds.append((size, dim))

    def pin_everything(self) -> None:
        """The kernel is right only at the shape it was traced at."""
        self._is_exact = True

    def pin(self, dim: Dim) -> None:
        """The kernel is right only where this dimension is as large as it was traced."""
        self._pinned.append(dim)

    def pinned(self) -> list[Axis]:
        """Axes of tensors that must have the size they were traced with."""
        numbers = {
            axis: rule for axis, rule in self.rules.items() if self._is_number(axis) and not rule.is_constant
        }
        dims = [*self._pinned, *(rule.source for rule in numbers.values())]
        found = [axis for dim in dims for axis in self._tensor_axes(dim)]
        alike = {_seen(self.sizes[axis]) for axis, rule in numbers.items() if not rule.source}
        tensors = {axis: size for axis, size in self.sizes.items() if axis not in self.rules}
        found += [axis for axis, size in tensors.items() if _seen(size) in alike]
        found += [axis for axis, size in tensors.items() if self._is_exact and is_varying(size)]
        return list(dict.fromkeys(found))

    def broadcast(self, forms: Sequence[SymbolicShape]) -> SymbolicShape:
        """The form of a pointwise result: right-aligned, ones stretched."""
        rank = max((form.rank for form in forms), default=0)
        columns = [
            [(f.shape[i - rank], f.dims[i - rank]) for f in forms if f.rank >= rank - i] for i in range(rank)
        ]
        return SymbolicShape(
            tuple(next((size for size, _ in column if size != 1), 1) for column in columns),
            tuple(self._joined([dim for _, dim in column if dim]) for column in columns),
        )

    def divisors(self) -> list[tuple[Axis, int]]:
        """Axes of tensors, and what divides them into whole parts."""
        rules = [rule for rule in self.rules.values() if not rule.may_round]
        whole = [(rule, re.search(r"\{0\} // (\d+)", rule.template or "")) for rule in rules]
        pairs = [(axis, int(by[1])) for rule, by in whole if by for axis in rule.source[:1]]
        return [pair for pair in dict.fromkeys(pairs) if pair[0] not in self.rules]

    def view(
        self, form: SymbolicShape, shape: Sequence[int], name: str = "view", free: int | None = None
    ) -> SymbolicShape:
        """The same elements in the same order under another shape; `free` is where the code says -1."""
        axes = [axis for dim in form.dims for axis in self.canonical(dim)]
        dims: list[Dim] = []
        for position, size in enumerate(shape):
            taken: list[Axis] = []
            while (missing := size // prod(self.sizes[axis] for axis in taken)) > 1:
                if axes and always(_divides, missing, self.sizes[axes[0]]):
                    taken.append(axes.pop(0))
                elif axes and always(_divides, self.sizes[axes[0]], missing) and missing < self.sizes[axes[0]]:
                    axis = axes.pop(0)
                    left, right = self._split(axis, missing, free == position, free == position + 1)
                    taken.append(left)
                    axes.insert(0, right)
                else:
                    return self._cut_anew(form, shape, name)
            dims.append(tuple(taken))
        return SymbolicShape(tuple(shape), tuple(dims))

    def same(self, first: Sequence[Dim], second: Sequence[Dim]) -> bool:
        """Whether two products of dimensions are made of the same axes in the same order."""
        return self._product(first) == self._product(second)

    def canonical(self, dim: Dim) -> Dim:
        """In axes that are not products of others, each under one name."""
        found: list[Axis] = []
        for axis in dim:
            root = self._root(axis)
            found += self.canonical(self._factors[root]) if root in self._factors else [root]
        return tuple(found)

    def equal_axes(self, axis: Axis) -> list[Axis]:
        """All axes that are the same, itself first."""
        root = self._root(axis)
        return [axis, *(one for one in self.sizes if one != axis and self._root(one) == root)]

    def size(self, dim: Dim) -> int:
        return prod(self.sizes[axis] for axis in dim)

    def normal(self, factor: int, dim: Dim) -> tuple[int, tuple[Axis, ...]]:
        """A product of a number and a dimension: two are equal where these are."""
        axes = self.canonical(dim)
        numbers = [self.sizes[axis] for axis in axes if self._is_number(axis)]
        return factor * prod(numbers), tuple(sorted(axis for axis in axes if not self._is_number(axis)))

    def _is_number(self, axis: Axis) -> bool:
        rule = self.rules.get(self._root(axis))
        return rule is not None and rule.template is None

    def _tensor_axes(self, dim: Dim) -> list[Axis]:
        found: list[Axis] = []
        for axis in dim:
            rule = self.rules.get(axis)
            found += [axis] if rule is None else self._tensor_axes(rule.source)
        return found

    def _split(self, axis: Axis, left: int, left_is_free: bool, right_is_free: bool) -> tuple[Axis, Axis]:
        """An axis as the product of two, the first of size `left`."""
        right = self.sizes[axis] // left
        fixed, whole = SizeRule(None, is_constant=True), (axis,)
        known = (left in self.constants, right in self.constants)
        if is_varying(self.sizes[axis]):
            known = (not is_varying(left), not is_varying(right))
            left_is_free, right_is_free = left_is_free and known[1], right_is_free and known[0]
        if is_varying(left) and is_varying(right):
            rules = (self.rule_of(left), self.rule_of(right))
        elif left_is_free or (known == (False, True) and not right_is_free):
            rules = (SizeRule(f"{{0}} // {right}", whole), fixed)
        elif right_is_free or known == (True, False):
            rules = (fixed, SizeRule(f"{{0}} // {left}", whole))
        else:
            rules = (fixed, fixed)
            self.pin(whole)
        sizes, name = (left, right), f"{axis[0]}_{axis[1]}"
        ((first,), (second,)) = (self.make((name, i), sizes[i], rules[i]) for i in range(2))
        self._factors[axis] = (first, second)
        return first, second

    def _cut_anew(self, form: SymbolicShape, shape: Sequence[int], name: str) -> SymbolicShape:
        """A reshape that no axis survives."""
        for dim in form.dims:
            self.pin(dim)
        dims = tuple(self.make((name, i), size) for i, size in enumerate(shape))
        self._cut |= {axis for dim in dims for axis in dim}
        return SymbolicShape(tuple(shape), dims)

    def _product(self, dims: Sequence[Dim]) -> list[Axis]:
        return [axis for dim in dims for axis in self.canonical(dim)]

    def _joined(self, dims: Sequence[Dim]) -> Dim:
        """One dimension for several that broadcasting made equal."""
        if not dims:
            return ()
        for other in dims[1:]:
            first, second = self.canonical(dims[0]), self.canonical(other)
            if len(first) == len(second):
                for a, b in zip(first, second, strict=True):
                    if self.sizes[a] == self.sizes[b]:
                        self._unite(a, b)
            elif len(first) == 1 and first[0] not in second:
                self._factors[first[0]] = second
            elif len(second) == 1 and second[0] not in first:
                self._factors[second[0]] = first
        return dims[0]

    def _unite(self, a: Axis, b: Axis) -> None:
        """Axes of tensors name a class rather than those that operators made, and those rather than numbers."""
        a, b = self._root(a), self._root(b)
        if a != b:
            numbers = [axis for axis in (a, b) if self._is_number(axis)]
            if len(numbers) == 1 and (self.varies or self.rules[numbers[0]].is_constant or numbers[0] in self._cut):
                self.pin((b,) if a in numbers else (a,))
            rank = [(axis in self.rules) + self._is_number(axis) for axis in (a, b)]
            kept, dropped = (b, a) if rank[1] < rank[0] else (a, b)
            self._parents[dropped] = kept

    def _root(self, axis: Axis) -> Axis:
        while self._parents.get(axis, axis) != axis:
            axis = self._parents[axis]
        return axis


def _seen(size: int) -> tuple[float, ...] | int:
    return values_of(size) or size


def _divides(whole: int, part: int) -> bool:
    return part != 0 and whole % part == 0
