"""Can a lane of an access reach past the end of what it runs over?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property

from tilesmith.lint.model.source import KernelLoop, KernelSource
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.structure.addresses.accesses import KernelAccess
from tilesmith.lint.structure.addresses.expansion import AddressExpansion, AddressLane, AddressTerm, key
from tilesmith.lint.structure.device_flow.call_frames import FramedNode
from tilesmith.lint.structure.launches.launch_arguments import is_checked, made_of, words_of
from tilesmith.lint.structure.tiles.tiling import UNKNOWN, Fit, TileFit, Tiling, counts_turns, worst

ROUNDED = frozenset({"next_power_of_2", "bit_length"})
CONSTRUCTORS = frozenset({"empty", "zeros", "ones", "full", "new_empty", "new_zeros", "new_ones", "new_full"})
Track = tuple[ast.AST, frozenset[str]]


class TileEdges:
    """Answers for the accesses of one kernel, called functions included."""

    def __init__(self, source: KernelSource, accesses: list[KernelAccess], expansion: AddressExpansion) -> None:
        self.source, self.accesses, self.expansion = source, accesses, expansion
        self.tiling = Tiling(source, accesses[0].frame.kernel)

    def past(self, lane: AddressLane) -> TileFit:
        """First what moves the lane, then its own width, then what the author compared it with elsewhere.

        Rows that lie a tile's width apart hold a whole tile.
        """
        moved = worst(self._moved(lane, shift) for shift in lane.shifts)
        if moved.fit is not Fit.UNKNOWN:
            return moved
        width = self.width(lane)
        pitches = [len(t.factors) for t in lane.shifts if any(key(place) == key(width) for place in t.factors)]
        if not pitches and self._rounded(width).fit is Fit.RAGGED:
            return self._rounded(width)
        return UNKNOWN if any(n > 2 for n in pitches) else self._compared.get(lane.track, UNKNOWN)

    def width(self, lane: AddressLane) -> FramedNode:
        """The tile's width as the kernel itself calls it."""
        end = lane.arange.args[1] if len(lane.arange.args) > 1 else lane.arange
        terms = self.expansion.terms(end, lane.frame)
        return (
            terms[0].factors[0] if len(terms) == 1 and len(terms[0].factors) == 1 else FramedNode(end, lane.frame)
        )

    def _moved(self, lane: AddressLane, shift: AddressTerm) -> TileFit:
        width = self.width(lane)
        if shift.step is not None:
            return self._stepped(shift, width)
        if len(shift.factors) == 1:
            loop = _loop_of(shift.factors[0])
            if loop is None or counts_turns(loop) or shift.negative:
                return UNKNOWN
            return self.tiling.of_loop(loop, shift.factors[0].frame, width)
        if len(shift.factors) == 2:
            return self._tile_times_index(shift)
        return UNKNOWN

    def _stepped(self, shift: AddressTerm, width: FramedNode) -> TileFit:
        """`ptrs += BLOCK_K * stride` inside a loop."""
        assert shift.step is not None
        frame = shift.step.frame
        loops = frame.function.loops_around(shift.step.node)
        same = len(shift.factors) == 1 and self._same_width(shift.factors[0], width)
        return self.tiling.of_loop(loops[-1], frame, width) if loops and same else UNKNOWN

    def _same_width(self, one: FramedNode, other: FramedNode) -> bool:
        numbers = self.tiling.numbers(one)
        return key(one) == key(other) or (numbers is not None and numbers == self.tiling.numbers(other))

    def _tile_times_index(self, shift: AddressTerm) -> TileFit:
        verdicts = []
        for index, tile in (shift.factors, shift.factors[::-1]):
            if self._is_index(index) and not self._is_index(tile):
                loop = _loop_of(index)
                counted = self.tiling.of_loop(loop, index.frame, tile) if loop and counts_turns(loop) else UNKNOWN
                verdicts.append(self.tiling.by_tile(tile) if counted.fit is Fit.UNKNOWN else counted)
        return worst(verdicts)

    def _is_index(self, place: FramedNode) -> bool:
        """Made from a program's number or a loop's; a remainder is a place within something smaller."""
        if isinstance(place.node, ast.BinOp) and isinstance(place.node.op, ast.Mod):
            return False
        parts = place.frame.behind(place.node)
        return any(self.expansion.operation(p.node) == "program_id" or _loop_of(p) is not None for p in parts)

    def _rounded(self, width: FramedNode) -> TileFit:
        """A lone lane as wide as the next power of two above a size."""
        nodes = [place.node for place in width.frame.behind(width.node)]
        if ROUNDED & words_of(nodes):
            return TileFit(Fit.RAGGED, "the row")
        for argument in self.tiling.passed(self.tiling.parameters(width)):
            behind = made_of(self.source, argument.host, argument.node)
            rounding = [n for n in behind if isinstance(n, ast.Call) and ROUNDED & words_of([n.func])]
            known = self.tiling.numbers(width) is not None
            if rounding and not known and not is_checked(self.source, argument.host, argument.node):
                sizes = [ast.unparse(part) for call in rounding for part in call.args[:1]]
                return TileFit(Fit.RAGGED, sizes[0] if sizes else "the row")
        return UNKNOWN

    @cached_property
    def _compared(self) -> Mapping[Track, TileFit]:
        """Lanes that masks of this kernel hold below a bound, by arange."""
        found: dict[Track, TileFit] = {}
        for access in self.accesses:
            for comparison in access.comparisons():
                for lane, bound in self._bounded(comparison):
                    if ast.dump(bound) != ast.dump(self.width(lane).node):
                        found.setdefault(lane.track, TileFit(Fit.RAGGED, ast.unparse(bound)))
        return found

    def _bounded(self, comparison: FramedNode) -> Iterator[tuple[AddressLane, ast.expr]]:
        node, frame = comparison
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = [node.left, node.comparators[0]]
            if isinstance(node.ops[0], (ast.Gt, ast.GtE)):
                sides.reverse()
            elif not isinstance(node.ops[0], (ast.Lt, ast.LtE)):
                return
            number = isinstance(sides[1], ast.Constant)  # about padding or halves, not about an end
            if not number and not self.expansion.lanes(sides[1], frame):
                yield from ((lane, sides[1]) for lane in self.expansion.lanes(sides[0], frame))

    def is_made_to_fit(self, lane: AddressLane, access: KernelAccess) -> bool:
        """The host padded this tensor, or made it as wide as the tile."""
        width = self.width(lane)
        tiles = {ast.dump(a.node) for a in self.tiling.passed(self.tiling.parameters(width))}
        for argument in self.tiling.passed(access.base(self.expansion)):
            for node in made_of(self.source, argument.host, argument.node):
                if isinstance(node, ast.Call) and "pad" in words_of([node.func]):
                    return True
                if isinstance(node, ast.Call) and CONSTRUCTORS & words_of([node.func]):
                    parts = made_of(self.source, argument.host, *all_arguments(node))
                    if any(isinstance(part, ast.expr) and ast.dump(part) in tiles for part in parts):
                        return True
        return False


def _loop_of(place: FramedNode) -> KernelLoop | None:
    """The innermost loop around this name that it counts the turns of."""
    node, frame = place
    if not isinstance(node, ast.Name):
        return None
    contains = frame.function.flow.syntax.contains
    counting = [x for x in frame.function.loops if isinstance(x.node, ast.For) and node.id in x.indices]
    around = [loop for loop in counting if contains(loop.node, node)]
    return around[-1] if around else None
