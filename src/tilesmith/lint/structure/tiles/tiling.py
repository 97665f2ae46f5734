"""How a kernel cuts sizes into tiles, and whether the last tile can be ragged."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from tilesmith.lint.model.sizes.possible_numbers import device_numbers, host_numbers
from tilesmith.lint.model.source import HostCode, JitFunction, KernelLoop, KernelSource
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode
from tilesmith.lint.structure.launches.launch_arguments import (
    MOST_LAUNCHES,
    LaunchArgument,
    arguments,
    is_checked,
    made_of,
)
from tilesmith.lint.structure.tiles.divisions import Division, divides, divisions_in, same_number


class Fit(Enum):
    WHOLE = "whole"
    """Something shows that tiles go into the size, or that a remainder is left out."""
    RAGGED = "ragged"
    UNKNOWN = "unknown"


class TileFit(NamedTuple):
    fit: Fit
    size: str = ""
    """What the tiles run over, as written."""


UNKNOWN = TileFit(Fit.UNKNOWN)
WHOLE = TileFit(Fit.WHOLE)


def worst(verdicts: Iterable[TileFit]) -> TileFit:
    """Ragged if one is, whole if some are, else unknown."""
    known = [verdict for verdict in verdicts if verdict.fit is not Fit.UNKNOWN]
    return next((verdict for verdict in known if verdict.fit is Fit.RAGGED), known[0] if known else UNKNOWN)


class Tiling:
    """What one kernel and its launches say about sizes and tiles."""

    def __init__(self, source: KernelSource, kernel: JitFunction) -> None:
        self.source, self.kernel = source, kernel

    @cached_property
    def asserts_division(self) -> bool:
        """`tl.static_assert(N % BLOCK == 0)` and the like in the kernel itself."""
        checks = self.kernel.calls_of("static_assert", "device_assert", "assume")
        plain = [node for node in self.kernel.nodes if isinstance(node, ast.Assert)]
        parts = self.source.syntax.inside(*(call.node for call in checks), *plain)
        return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in parts)

    @cached_property
    def host_divisions(self) -> list[tuple[Division, HostCode | None]]:
        """Divisions behind the grids."""
        found = []
        for launch in self.source.launches_of(self.kernel)[:MOST_LAUNCHES]:
            if launch.grid is not None:
                host = self.source.host_of(launch)
                nodes = made_of(self.source, host, launch.grid)
                found += [(division, host) for division in divisions_in(self.source, nodes)]
        return found

    @cached_property
    def device_divisions(self) -> list[Division]:
        return divisions_in(self.source, self.kernel.nodes)

    def by_tile(self, tile: FramedNode) -> TileFit:
        """Tiles of this width, counted by the grid or by the kernel itself."""
        verdicts = [self._counted(d.size, tile, d.up) for d in self.device_divisions if self._same(d.tile, tile)]
        for division, host in self.host_divisions:
            if self._is_tile(division.tile, host, tile):
                verdicts.append(self._counted_by_host(division, host))
        return worst(verdicts)

    def _same(self, node: ast.expr, tile: FramedNode) -> bool:
        return ast.dump(node) == ast.dump(tile.node)

    def _is_tile(self, node: ast.expr, host: HostCode | None, tile: FramedNode) -> bool:
        """The host's `BLOCK`, `meta["BLOCK"]` or `1024` is the kernel's tile."""
        if isinstance(tile.node, ast.Name):
            if _meta_name(node) == tile.node.id:
                return True
            passed = [a.node for a in arguments(self.source, self.kernel, tile.node.id)]
            if any(ast.dump(argument) == ast.dump(node) for argument in passed):
                return True
        return same_number(host_numbers(self.source, host, node), self.numbers(tile))

    def _counted(self, size: ast.expr, tile: FramedNode, up: bool) -> TileFit:
        if not up:
            return WHOLE
        return self.runs_over(FramedNode(size, tile.frame), tile)

    def _counted_by_host(self, division: Division, host: HostCode | None) -> TileFit:
        numbers = [host_numbers(self.source, host, part) for part in (division.tile, division.size)]
        whole = not division.up or divides(*numbers) or self.asserts_division
        if whole or is_checked(self.source, host, division.size, division.tile):
            return WHOLE
        return TileFit(Fit.RAGGED, ast.unparse(division.size))

    def runs_over(self, size: FramedNode, tile: FramedNode) -> TileFit:
        """A loop in steps of a tile over a size of device code."""
        if self.asserts_division or divides(self.numbers(tile), self.numbers(size)):
            return WHOLE
        parameters = self.parameters(size)
        if not parameters or self._is_computed(size):
            return UNKNOWN
        floored = {ast.dump(division.size) for division, _ in self.host_divisions if not division.up}
        for argument in self.passed([*parameters, *self.parameters(tile)]):
            if ast.dump(argument.node) in floored or is_checked(self.source, argument.host, argument.node):
                return WHOLE
            nodes = made_of(self.source, argument.host, argument.node)
            if any(not division.up for division in divisions_in(self.source, nodes)):
                return WHOLE
        return TileFit(Fit.RAGGED, ast.unparse(size.node))

    def _is_computed(self, size: FramedNode) -> bool:
        """A size read from memory, which may be padded, or a power of two."""
        for place in size.frame.behind(size.node):
            node = place.node
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift)):
                return True
            if self.source.operation(node) == "load":
                return True
        return False

    def counted_by_parameter(self, count: FramedNode) -> TileFit:
        """A number of turns that the host divided out, or the kernel before the loop."""
        own = divisions_in(self.source, [place.node for place in count.frame.behind(count.node)])
        verdicts = [self._counted(d.size, FramedNode(d.tile, count.frame), d.up) for d in own]
        for argument in self.passed(self.parameters(count)):
            nodes = made_of(self.source, argument.host, argument.node)
            verdicts += [self._counted_by_host(d, argument.host) for d in divisions_in(self.source, nodes)]
        return worst(verdicts)

    def of_loop(self, loop: KernelLoop, frame: CallFrame, tile: FramedNode) -> TileFit:
        """What a loop that moves a tile runs over."""
        if isinstance(loop.node, ast.While):
            return self._of_while(loop.node.test, frame, tile)
        bounds = [bound for bound in loop.bounds if not isinstance(bound, ast.Constant)]
        if any(self._leaves_last(FramedNode(bound, frame)) for bound in bounds):
            return WHOLE
        if counts_turns(loop):
            return worst(self.counted_by_parameter(FramedNode(bound, frame)) for bound in bounds)
        ends = [bound for bound in loop.bounds[:2] if not isinstance(bound, ast.Constant)]
        if any(self._is_rounded_down(FramedNode(end, frame), tile) for end in ends):
            return WHOLE
        return worst(self.runs_over(FramedNode(end, frame), tile) for end in ends[-1:])

    def _of_while(self, test: ast.expr, frame: CallFrame, tile: FramedNode) -> TileFit:
        """`while start < N`; in `while start + BLOCK <= N` every tile is whole."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return UNKNOWN
        sides = [test.left, test.comparators[0]]
        if isinstance(test.ops[0], (ast.Gt, ast.GtE)):
            sides.reverse()
        elif not isinstance(test.ops[0], (ast.Lt, ast.LtE)):
            return UNKNOWN
        wanted = ast.dump(tile.node)
        if any(isinstance(n, ast.expr) and ast.dump(n) == wanted for n in self.source.syntax.inside(sides[0])):
            return WHOLE
        end = FramedNode(sides[1], frame)
        return WHOLE if self._is_rounded_down(end, tile) else self.runs_over(end, tile)

    def _is_rounded_down(self, end: FramedNode, tile: FramedNode) -> bool:
        """`N // BLOCK * BLOCK`, `N - BLOCK + 1`, or whatever a function of the file makes of it."""
        nodes = [place.node for place in end.frame.behind(end.node)]
        if any(not division.up for division in divisions_in(self.source, nodes)):
            return True
        wanted = ast.dump(tile.node)
        if ast.dump(end.node) == wanted:
            return True
        return any(
            (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) and ast.dump(n.right) == wanted)
            or (isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and bool(self.source.jit_named(n.func.id)))
            for n in nodes
        )

    def _leaves_last(self, end: FramedNode) -> bool:
        """`range(tiles - 1)`: the last tile is treated apart."""
        nodes = [place.node for place in end.frame.behind(end.node)]
        less = [n.right for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)]
        return any(isinstance(right, ast.Constant) and right.value == 1 for right in less)

    def numbers(self, place: FramedNode) -> frozenset[int] | None:
        if place.frame.caller is not None or not isinstance(place.node, ast.expr):
            return None
        return device_numbers(self.source, self.kernel, place.node)

    def parameters(self, place: FramedNode) -> list[str]:
        """Parameters of the kernel that an expression of any frame depends on."""
        names = {part.node.id for part in place.frame.behind(place.node) if isinstance(part.node, ast.Name)}
        return [name for name in self.kernel.params if name in names]

    def passed(self, names: Iterable[str]) -> list[LaunchArgument]:
        return [argument for name in names for argument in arguments(self.source, self.kernel, name)]


def counts_turns(loop: KernelLoop) -> bool:
    """In steps of one, not of a tile."""
    return len(loop.bounds) < 3 or (isinstance(loop.bounds[2], ast.Constant) and loop.bounds[2].value == 1)


def _meta_name(node: ast.expr) -> str:
    match node:
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            return name
    return ""
