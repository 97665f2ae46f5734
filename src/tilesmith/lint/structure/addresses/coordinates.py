"""What makes an address differ between programs, lanes and turns: the coordinates it is made of.

A coordinate is a name that comes straight from `tl.program_id`, `tl.arange` or a loop, or that is cut out of one
with `//` and `%`: `row` and `column` of one flat program number are two coordinates.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode

PROGRAM = "program_id"
LANES = "arange"


class Coordinate(NamedTuple):
    frame: CallFrame
    name: str
    """The name, or the text of a query written in place."""


class Coordinates:
    """Of all device code of one file."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self._of_names: dict[Coordinate, frozenset[Coordinate]] = {}

    def of(self, *places: FramedNode) -> frozenset[Coordinate]:
        found: set[Coordinate] = set()
        waiting = list(places)
        while waiting:
            node, frame = waiting.pop()
            if isinstance(node, ast.Name):
                found |= self._of_name(node.id, frame)
            elif self.source.operation(node) in (PROGRAM, LANES):
                found.add(Coordinate(frame, ast.unparse(node)))
            else:
                waiting += [FramedNode(child, frame) for child in ast.iter_child_nodes(node)]
        return frozenset(found)

    def _of_name(self, name: str, frame: CallFrame) -> frozenset[Coordinate]:
        key = Coordinate(frame, name)
        if key not in self._of_names:
            self._of_names[key] = frozenset()
            self._of_names[key] = self._find(key)
        return self._of_names[key]

    def _find(self, key: Coordinate) -> frozenset[Coordinate]:
        frame = key.frame
        bindings = frame.bindings(key.name)
        behind = self.of(*(FramedNode(binding.value, frame) for binding in bindings))
        if key.name in frame.passed:
            passed = frame.passed[key.name]
            behind |= self.of(passed)
        if any(key.name in loop.indices for loop in frame.function.loops):
            return frozenset({key})
        cut = any(not binding.whole or self._cuts(binding.value) for binding in bindings)
        return frozenset({key}) if behind and cut else behind

    def _cuts(self, value: ast.AST) -> bool:
        """The name starts something of its own: a query, lanes, or a part of a number."""
        for node in self.source.syntax.inside(value):
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
                return True
            if isinstance(node, ast.Call) and self.source.operation(node) in (PROGRAM, LANES):
                return True
        return False

    def made_of(self, coordinate: Coordinate, operation: str) -> bool:
        """Whether `program_id` or `arange` lies behind it, through any number of names."""
        if coordinate.name.isidentifier():
            places = self._behind(coordinate)
            return any(self.source.operation(place.node) == operation for place in places)
        return operation in coordinate.name

    def _behind(self, coordinate: Coordinate) -> list[FramedNode]:
        frame, name = coordinate
        values = frame.function.flow.values_of(name)
        found = frame.behind(*values)
        if name in frame.passed:
            passed = frame.passed[name]
            found += passed.frame.behind(passed.node)
        return found

    def is_covered(self, coordinate: Coordinate, by: frozenset[Coordinate]) -> bool:
        """It cannot change without one of the others changing: it is among them, or is cut out of one."""
        if coordinate in by:
            return True
        names = {(p.frame, p.node.id) for p in self._behind(coordinate) if isinstance(p.node, ast.Name)}
        return any((other.frame, other.name) in names for other in by)

    def own(self, one: frozenset[Coordinate], other: frozenset[Coordinate]) -> list[Coordinate]:
        """Those along which the first changes while the second stays the same."""
        return [coordinate for coordinate in one if not self.is_covered(coordinate, other)]
