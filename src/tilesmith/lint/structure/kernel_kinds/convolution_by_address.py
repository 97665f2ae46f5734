"""Convolution by the address alone: an output position and a tap that move along the same axis.

However the sum is spread over names and statements, `(oh * stride + kh) * W` and `row + kh * W` expand to the same
terms: the position and the tap are scaled by `W`, and the tap also picks the weight.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.structure.addresses.address_indices import AddressAxis, AddressIndex, address_indices_of
from tilesmith.lint.structure.addresses.expansion import key
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, frames_of
from tilesmith.lint.structure.device_flow.value_flow import Dependence, load_calls
from tilesmith.lint.structure.reductions.contractions import Contraction, contractions
from tilesmith.lint.structure.tiles.program_tiles import arange_sizes
from tilesmith.lint.vocabulary import STORES

SMALL_STRIDES = frozenset({"1", "2", "3"})
"""A longer step written as a number is a row's length."""
Address = tuple[list[AddressAxis], bool]
"""Its terms, and whether they are one coordinate of several."""


def adds_tap_to_position(function: JitFunction, source: KernelSource) -> bool:
    pairs = {made.factors: made for made in contractions(function, source) if len(made.factors) == 2}
    found = list(pairs.values())
    frames = [frame for frame in frames_of(source) if frame.function is function] if found else []
    return any(_TapReading(frame, source).slides(found) for frame in frames)


class _TapReading:
    def __init__(self, frame: CallFrame, source: KernelSource) -> None:
        self.frame, self.function, self.address_indices = frame, frame.function, address_indices_of(source)
        loads = load_calls(self.function, source)
        self.loaded = Dependence(self.function.flow, loads, loads)
        root = frame.root
        stores = [call.node for call in root.function.calls if call.operation in STORES and call.node.args]
        self.outputs = frozenset(
            index for store in stores for index in self.address_indices.of(store.args[0], root)
        )
        self.tiles, self.lengths = frozenset(self._tiles()), frozenset(self._lengths())
        self.summed = frozenset(AddressIndex(loop.node) for loop in self.function.loops if not _stores(loop))

    def _tiles(self) -> Iterator[str]:
        """Sizes of blocks: what is scaled by one of them starts a tile, it is no position."""
        return (name for frame in self._callers() for name in self._names(arange_sizes(frame.function), frame))

    def _lengths(self) -> Iterator[str]:
        """Lengths of loops: what is scaled by one of them is a row of its own."""
        for frame in self._callers():
            yield from self._names([bound for loop in frame.function.loops for bound in loop.bounds], frame)

    def _names(self, sizes: list[ast.expr], frame: CallFrame) -> Iterator[str]:
        terms = [term for size in sizes for term in self.address_indices.expansion.terms(size, frame)]
        return (key(place) for term in terms for place in term.factors)

    def _callers(self) -> Iterator[CallFrame]:
        frame: CallFrame | None = self.frame
        while frame is not None:
            yield frame
            frame = frame.caller

    def slides(self, found: list[Contraction]) -> bool:
        for made in found:
            one, other = (self._loads(factor) for factor in made.factors)
            if self._slides(one, other) or self._slides(other, one):
                return True
        return False

    def _loads(self, factor: ast.expr) -> list[ast.expr]:
        """The addresses behind a factor."""
        return [load.args[0] for load in self.loaded.behind(factor) if isinstance(load, ast.Call) and load.args]

    def _axes(self, address: ast.expr) -> list[Address]:
        along = list(self._coordinates(address))
        if along:
            return [(axes, True) for value in along for axes in self.address_indices.axes(value, self.frame)]
        return [(axes, False) for axes in self.address_indices.axes(address, self.frame)]

    def _coordinates(self, address: ast.expr) -> Iterator[ast.expr]:
        """One by one, where a descriptor or a block pointer takes them apart."""
        named = self.frame.values(address) if isinstance(address, ast.Name) else []
        for value in [place.node for place in named] or [address]:
            match value:
                case ast.List(elts=elements) | ast.Tuple(elts=elements):
                    yield from elements
                case ast.Call() if self.address_indices.expansion.operation(value) == "make_block_ptr":
                    given = [keyword.value for keyword in value.keywords if keyword.arg == "offsets"]
                    for offsets in [*value.args[3:4], *given]:
                        yield from offsets.elts if isinstance(offsets, (ast.List, ast.Tuple)) else ()

    def _slides(self, data: list[ast.expr], weights: list[ast.expr]) -> bool:
        """The tap moves both and no output; the position only what the weight is multiplied with."""
        picking = frozenset(index for address in weights for index in self.address_indices.of(address, self.frame))
        fixed = self.summed | picking
        for axes, apart in (found for address in data for found in self._axes(address)):
            taps = [axis for axis in axes if _has(axis, picking) and self._is_summed(axis)]
            places = [axis for axis in axes if axis.indices and not _has(axis, fixed)]
            if any(apart or self._is_same(place, tap) for place in places for tap in taps):
                return True
        return False

    def _is_summed(self, axis: AddressAxis) -> bool:
        return not any(index.is_in(self.outputs) for index in axis.indices - self.summed)

    def _is_same(self, place: AddressAxis, tap: AddressAxis) -> bool:
        common = place.scale & tap.scale
        apart = {*(place.scale - common), *(tap.scale - common)}
        if apart & (self.tiles | self.lengths):
            return False
        return bool(common.keys() - self.tiles) or all(name.rpartition(":")[2] in SMALL_STRIDES for name in apart)


def _has(axis: AddressAxis, indices: frozenset[AddressIndex]) -> bool:
    return any(index.is_in(indices) for index in axis.indices)


def _stores(loop: KernelLoop) -> bool:
    return any(call.operation in STORES for call in loop.calls)
