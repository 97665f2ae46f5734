"""Convolution by structure: an address in which an output position and a filter tap move along the same axis.

However the sum is spread over names and statements, `(oh * stride + kh) * W` and `row + kh * W` expand to the same
terms: the position and the tap are scaled by `W`, and the tap also picks the weight. In a matrix product the loop's
index moves along an axis of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.kernel_loops import advancing_loads, stores_in
from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.lint.structure.addresses.address_indices import AddressAxis, AddressIndex, address_indices_of
from tilesmith.lint.structure.addresses.expansion import key
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode, frames_of
from tilesmith.lint.structure.device_flow.value_flow import loaded_data
from tilesmith.lint.structure.reductions.contractions import contractions
from tilesmith.lint.structure.reductions.summed_products import returned_products
from tilesmith.lint.structure.tiles.program_tiles import arange_sizes
from tilesmith.lint.vocabulary import STORES

SMALL_STRIDES = frozenset({"1", "2", "3"})
"""A longer step written as a number is a row's length."""
Address = tuple[list[AddressAxis], bool]
"""Its terms, and whether they are one coordinate: one of several, or one that is held below a border."""


def slides_window(function: JitFunction, source: KernelSource) -> bool:
    """Some load that goes into a sum of products reads at output position plus tap."""
    own = {made.factors for made in contractions(function, source) if len(made.factors) == 2}
    for frame in frames_of(source):
        if frame.function is function:
            pairs = [*own, *(factors for _, factors in returned_products(frame))]
            if pairs and _TapReading(frame, source).slides(pairs):
                return True
    return False


class _TapReading:
    def __init__(self, frame: CallFrame, source: KernelSource) -> None:
        self.frame, self.function, self.address_indices = frame, frame.function, address_indices_of(source)
        self.loaded = loaded_data(self.function, source)
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

    def slides(self, pairs: list[tuple[ast.expr, ...]]) -> bool:
        for factors in pairs:
            one, other = (self._loads(factor) for factor in factors)
            if self._slides(one, other) or self._slides(other, one):
                return True
        return False

    def _loads(self, factor: ast.expr) -> list[ast.Call]:
        return [load for load in self.loaded.behind(factor) if isinstance(load, ast.Call) and load.args]

    def _axes(self, load: ast.Call) -> list[Address]:
        along = list(self._coordinates(load.args[0]))
        whole = [] if along else self.address_indices.axes(load.args[0], self.frame)
        parts = [self.address_indices.axes(value, self.frame) for value in along]
        parts += [self.address_indices.axes(*side)[:1] for side in self._tested(load)]
        return [*((axes, False) for axes in whole), *((axes, True) for part in parts for axes in part)]

    def _tested(self, load: ast.Call) -> Iterator[FramedNode]:
        """What its mask compares with a border; `M * K` is a number of elements and not the length of an axis."""
        mask = argument(load, 1, "mask")
        for node, frame in [] if mask is None else self.frame.behind(mask):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                if not any(isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult) for side in sides):
                    yield from (FramedNode(side, frame) for side in sides)

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

    def _slides(self, data: list[ast.Call], weights: list[ast.Call]) -> bool:
        """The tap moves both and no output; the position only what the weight is multiplied with."""
        addresses = [load.args[0] for load in weights]
        picking = frozenset(index for a in addresses for index in self.address_indices.of(a, self.frame))
        fixed = self.summed | picking
        for axes, alone in (found for load in data for found in self._axes(load)):
            taps = [axis for axis in axes if _has(axis, picking) and self._is_summed(axis)]
            places = [axis for axis in axes if axis.indices and not _has(axis, fixed)]
            if any(self._is_same(place, tap, alone) for place in places for tap in taps):
                return True
        return False

    def _is_summed(self, axis: AddressAxis) -> bool:
        return not any(index.is_in(self.outputs) for index in axis.indices - self.summed)

    def _is_same(self, place: AddressAxis, tap: AddressAxis, alone: bool) -> bool:
        common = place.scale & tap.scale
        apart = {*(place.scale - common), *(tap.scale - common)}
        if apart & (self.tiles | self.lengths):
            return False
        small = all(name.rpartition(":")[2] in SMALL_STRIDES for name in apart)
        return alone or small or bool(common.keys() - self.tiles)


def _has(axis: AddressAxis, indices: frozenset[AddressIndex]) -> bool:
    return any(index.is_in(indices) for index in axis.indices)


def _stores(loop: KernelLoop) -> bool:
    return any(call.operation in STORES for call in loop.calls)


FEWEST_AGES = 2


def weighs_last_inputs(function: JitFunction, source: KernelSource) -> bool:
    """`y = w0 * before + w1 * x; before = x`, with `y` stored in every turn."""
    return any(_DelayLine(loop, function, source).is_weighed() for loop in function.loops if stores_in(loop))


class _DelayLine:
    def __init__(self, loop: KernelLoop, function: JitFunction, source: KernelSource) -> None:
        self.loop, self.function, self.flow = loop, function, loop.flow
        self.loaded = loaded_data(function, source)
        moving = {call.node for call in advancing_loads(loop)}
        bound = [(binding.name, loop.flow.syntax.inside(binding.value)) for binding in loop.flow.bindings]
        self.newest = frozenset(name for name, nodes in bound if any(node in moving for node in nodes))
        self.kept = self._kept()

    def _kept(self) -> frozenset[str]:
        """Names set before the loop that each turn gives nothing but the value of a younger one."""
        copies = {name: self._copied(name) for name in self.flow.by_name if self._starts_outside(name)}
        found: set[str] = set()
        for _ in copies:
            fresh = {name for name, younger in copies.items() if younger and younger <= found | self.newest}
            if fresh <= found:
                break
            found |= fresh
        return frozenset(found)

    def _starts_outside(self, name: str) -> bool:
        return len(self.function.flow.by_name.get(name, ())) > len(self.flow.by_name[name])

    def _copied(self, name: str) -> frozenset[str]:
        bindings = self.flow.by_name[name]
        if not all(binding.whole and isinstance(binding.value, ast.Name) for binding in bindings):
            return frozenset()
        return frozenset(b.value.id for b in bindings if isinstance(b.value, ast.Name)) - {name}

    def is_weighed(self) -> bool:
        if not self.kept:
            return False
        values = [store.node.args[1] for store in stores_in(self.loop) if len(store.node.args) > 1]
        weighed: set[str] = set()
        for node in self.flow.parts_behind(*values):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                for side, weight in ((node.left, node.right), (node.right, node.left)):
                    if not self._ages(weight) and self.loaded.behind(weight):
                        weighed |= self._ages(side)
        return len(weighed) >= FEWEST_AGES and bool(weighed & self.kept)

    def _ages(self, side: ast.AST) -> set[str]:
        """The last inputs in it, through names that stand for one of them."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = list(self.flow.syntax.names(side))
        while waiting:
            name = waiting.pop()
            if name in self.kept or name in self.newest:
                found.add(name)
            if name not in self.kept and name not in seen:
                seen.add(name)
                waiting += [n for value in self.flow.values_of(name) for n in self._passed_on(name, value)]
        return found

    def _passed_on(self, name: str, value: ast.AST) -> set[str]:
        """What a name is made of; of a new input only what else stands for it in another case."""
        if name in self.newest and not isinstance(value, ast.Name):
            return set()
        return self.flow.syntax.names(value)
