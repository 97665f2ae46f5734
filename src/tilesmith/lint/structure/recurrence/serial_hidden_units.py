"""Does every program of a recurrent kernel run through all hidden units by itself?

Weights stay the same from step to step. Where a loop inside the time loop walks over weights, and where in them
it walks does not depend on the program, each program does the work of the whole hidden dimension in turn.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tilesmith.lint.model.sizes.possible_numbers import device_numbers
from tilesmith.lint.model.source import KernelLoop, KernelSource
from tilesmith.lint.structure.addresses.accesses import expansion_of
from tilesmith.lint.structure.addresses.coordinates import LANES, PROGRAM, Coordinate, Coordinates
from tilesmith.lint.structure.addresses.expansion import AddressLane, AddressTerm
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode, frames_of
from tilesmith.lint.structure.device_flow.value_flow import loaded_data
from tilesmith.lint.structure.kernel_kinds.kernel_type import kernel_type
from tilesmith.lint.structure.recurrence.time_loops import time_loops
from tilesmith.lint.structure.reductions.contractions import contractions
from tilesmith.lint.vocabulary import LOADS

FEW_TURNS = 8
"""A loop over gates, not over hidden units."""


def serial_time_loops(source: KernelSource) -> Iterator[KernelLoop]:
    """Time loops in which a program walks over the whole hidden dimension."""
    coordinates = Coordinates(source)
    called: dict[CallFrame, list[CallFrame]] = defaultdict(list)
    for frame in frames_of(source):
        called[frame.root].append(frame)
    for frame in frames_of(source):
        if kernel_type(frame.kernel, source) != "persistent_recurrent":
            continue
        for loop in time_loops(frame.function, source):
            inside = [other for other in called[frame.root] if _is_called_in(other, frame, loop)]
            step = _TimeStep(loop, frame, source, coordinates)
            walks = [walk for each in (frame, *inside) for walk in _walks(each, frame, loop, source)]
            if any(step.needs_all(address, walk) for address, walk in walks):
                yield loop


def _is_called_in(other: CallFrame, frame: CallFrame, loop: KernelLoop) -> bool:
    while other.caller is not None and other.call is not None:
        if other.caller is frame:
            return loop.holds(other.call)
        other = other.caller
    return False


def _walks(
    frame: CallFrame, home: CallFrame, time_loop: KernelLoop, source: KernelSource
) -> Iterator[tuple[FramedNode, KernelLoop]]:
    """Addresses of loads that go into products, with the loops around them."""
    function = frame.function
    factors = [factor for found in contractions(function, source) for factor in found.factors]
    multiplied = loaded_data(function, source).behind(*factors)
    for loop in function.loops:
        if (frame is home and not _inside(loop, time_loop)) or _is_short(loop, frame, source):
            continue
        for call in loop.calls:
            if call.operation in LOADS and call.node in multiplied and call.node.args:
                yield FramedNode(call.node.args[0], frame), loop


def _inside(loop: KernelLoop, outer: KernelLoop) -> bool:
    return loop.node is not outer.node and outer.flow.syntax.contains(outer.node, loop.node)


def _is_short(loop: KernelLoop, frame: CallFrame, source: KernelSource) -> bool:
    if isinstance(loop.node, ast.While) or not loop.bounds or frame.caller is not None:
        return False
    ends = [device_numbers(source, frame.function, bound) for bound in loop.bounds[:2]]
    return ends[-1] is not None and max(ends[-1]) <= FEW_TURNS


class _TimeStep:
    """One turn of the time loop."""

    def __init__(
        self, time_loop: KernelLoop, home: CallFrame, source: KernelSource, coordinates: Coordinates
    ) -> None:
        self.time_loop, self.home = time_loop, home
        self.source, self.coordinates = source, coordinates

    def needs_all(self, address: FramedNode, walk: KernelLoop) -> bool:
        """What is walked over is the same in every step and in every program, but for a choice of matrices."""
        behind = address.frame.behind(address.node)
        names = {(place.frame, place.node.id) for place in behind if isinstance(place.node, ast.Name)}
        moving = self.time_loop.indices | self.time_loop.carried
        if any((self.home, name) in names for name in moving):
            return False
        if not any((address.frame, name) in names for name in walk.indices | walk.carried):
            return False
        return not self._is_split(address)

    def _is_split(self, address: FramedNode) -> bool:
        """A program has its own part: lanes, turns or a single unit that its number picks."""
        found = self.coordinates.of(address)
        own = {coordinate for coordinate in found if self.coordinates.made_of(coordinate, PROGRAM)}
        if any(self.coordinates.made_of(coordinate, LANES) or _is_index(coordinate) for coordinate in own):
            return True
        if own and len(found - own) < 2:
            return True
        lanes = expansion_of(self.source).lanes(address.node, address.frame)
        return any(self._is_tile(shift, lane) for lane in lanes for shift in lane.shifts)

    def _is_tile(self, shift: AddressTerm, lane: AddressLane) -> bool:
        """`program * BLOCK` in front of `tl.arange(0, BLOCK)`."""
        sizes = [ast.unparse(argument) for argument in lane.arange.args[1:2]]
        others = [ast.unparse(place.node) for place in shift.factors]
        asked = any(self._asks(place) for place in shift.factors)
        return asked and len(others) == 2 and bool(set(others) & set(sizes))

    def _asks(self, place: FramedNode) -> bool:
        parts = place.frame.behind(place.node)
        return any(self.source.operation(part.node) == PROGRAM for part in parts)


def _is_index(coordinate: Coordinate) -> bool:
    return any(coordinate.name in loop.indices for loop in coordinate.frame.function.loops)
