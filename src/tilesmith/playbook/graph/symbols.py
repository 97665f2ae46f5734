"""Where every size comes from, so that a kernel written for one shape is right for all of them.

A dimension is a product of axes of inputs and parameters: `x.shape[1] * x.shape[2]` is (("x", 1), ("x", 2)), and
a dimension of size one is the empty product. Axes that broadcasting puts side by side are the same axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from tilesmith.playbook.unmatched import Unmatched

Axis = tuple[str, int]
Dim = tuple[Axis, ...]


@dataclass(frozen=True)
class SymbolicShape:
    """A shape in numbers and in symbols."""

    shape: tuple[int, ...]
    dims: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass
class Symbols:
    """The sizes of all axes, and which axes are the same."""

    sizes: dict[Axis, int] = field(default_factory=dict)
    _parents: dict[Axis, Axis] = field(default_factory=dict)

    def leaf(self, name: str, shape: Sequence[int]) -> SymbolicShape:
        self.sizes |= {(name, axis): size for axis, size in enumerate(shape)}
        return SymbolicShape(tuple(shape), tuple(((name, i),) if size != 1 else () for i, size in enumerate(shape)))

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

    def view(self, form: SymbolicShape, shape: Sequence[int]) -> SymbolicShape:
        """The same elements in the same order under another shape."""
        axes = [axis for dim in form.dims for axis in dim]
        dims: list[Dim] = []
        for size in shape:
            taken: list[Axis] = []
            while prod(self.sizes[axis] for axis in taken) < size and axes:
                taken.append(axes.pop(0))
            if prod(self.sizes[axis] for axis in taken) != size:
                raise Unmatched(f"splits a dimension in a reshape to {tuple(shape)}")
            dims.append(tuple(taken))
        return SymbolicShape(tuple(shape), tuple(dims))

    def same(self, first: Sequence[Dim], second: Sequence[Dim]) -> bool:
        """Whether two products of dimensions are made of the same axes."""
        return self._product(first) == self._product(second)

    def canonical(self, dim: Dim) -> Dim:
        return tuple(self._root(axis) for axis in dim)

    def _product(self, dims: Sequence[Dim]) -> list[Axis]:
        return sorted(self._root(axis) for dim in dims for axis in dim)

    def _joined(self, dims: Sequence[Dim]) -> Dim:
        """One dimension for several that broadcasting made equal."""
        if not dims:
            return ()
        for other in dims[1:]:
            if len(other) == len(dims[0]):
                for a, b in zip(dims[0], other, strict=True):
                    if self.sizes[a] == self.sizes[b]:
                        self._parents[self._root(b)] = self._root(a)
        return dims[0]

    def _root(self, axis: Axis) -> Axis:
        while self._parents.get(axis, axis) != axis:
            axis = self._parents[axis]
        return axis
