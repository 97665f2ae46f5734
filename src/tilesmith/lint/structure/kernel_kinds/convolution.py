"""Convolution by structure: an input address in which an output position and a filter tap are added first.

In a matrix product the loop's index moves along an axis of its own. In a convolution it shifts the output's
position, `ih = oh * stride + kh - pad`; that sum is then scaled by a stride or tested against the border.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.kernel_loops import advancing_loads, stores_in
from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.model.syntax.flow import Flow
from tilesmith.lint.structure.addresses.buffers import helper_calls
from tilesmith.lint.structure.device_flow.value_flow import Dependence, Marks, load_calls
from tilesmith.lint.structure.kernel_kinds.convolution_by_address import adds_tap_to_position
from tilesmith.lint.structure.reductions.contractions import contractions
from tilesmith.lint.structure.reductions.reduction_sites import reduction_calls, stored_values
from tilesmith.lint.structure.tiles.program_tiles import arange_sizes
from tilesmith.lint.vocabulary import STORES


def slides_window(function: JitFunction, source: KernelSource) -> bool:
    """Some load that goes into a sum of products reads at output position plus tap."""
    loads = load_calls(function, source)
    loaded = Dependence(function.flow, loads, loads)
    factors = [factor for product in contractions(function, source) for factor in product.factors]
    feeding = [load for load in loaded.behind(*factors) if isinstance(load, ast.Call)]
    helpers = [(call, callee) for call, callee in helper_calls(source, function) if _multiplies(callee, source)]
    if not feeding and not helpers:
        return False
    places = _read_positions_and_taps(function, source)
    if any(_shifts(load, places) for load in feeding) or adds_tap_to_position(function, source):
        return True
    return any(_shifts_inside(call, callee, places, source) for call, callee in helpers)


def _multiplies(callee: JitFunction, source: KernelSource) -> bool:
    """It loads two values and hands back something with their product."""
    if len(load_calls(callee, source)) < 2:
        return False
    behind = callee.flow.parts_behind(*stored_values(callee))
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) for node in behind)


def _shifts_inside(call: ast.Call, callee: JitFunction, places: _PositionsAndTaps, source: KernelSource) -> bool:
    """The caller hands position and tap to a function that adds them."""
    given = dict(zip(callee.params, call.args, strict=False))
    loads = load_calls(callee, source)
    inside = _PositionsAndTaps(
        callee,
        frozenset(name for name, value in given.items() if places.is_tap(value)),
        frozenset(name for name, value in given.items() if places.is_position(value)),
        frozenset(name for name, value in given.items() if places.has_lanes(value)),
        loads,
    )
    return any(_shifts(load, inside) for load in loads if isinstance(load, ast.Call))


class _PositionsAndTaps:
    """Which names of a function stand for output positions, and which for what is summed up."""

    def __init__(
        self,
        function: JitFunction,
        taps: frozenset[str],
        positions: frozenset[str],
        lanes: frozenset[str],
        barriers: Marks,
    ) -> None:
        self.flow = function.flow
        self.taps, self.positions, self.lanes = taps, positions, lanes
        ends = {name: ast.Name(name) for name in taps | positions}
        self._behind = Dependence(function.flow, (), barriers, ends)
        queries = {call.node for call in function.calls_of("program_id")}
        self.program_ids = {binding.name for binding in function.flow.bindings if binding.value in queries}
        self.bounds = {ast.unparse(bound) for loop in function.loops for bound in loop.bounds}
        self.blocks = {ast.unparse(size) for size in arange_sizes(function)}

    def _names(self, side: ast.expr) -> set[str]:
        return {mark.id for mark in self._behind.behind(side) if isinstance(mark, ast.Name)}

    def is_position(self, side: ast.expr) -> bool:
        """A bare program id must stand there itself: in a split-K product one lies behind the offset."""
        names = self._names(side)
        near = self.flow.syntax.names(side) & self.positions
        return bool(near or names & (self.positions - self.program_ids)) and not names & self.taps

    def is_tap(self, side: ast.expr) -> bool:
        names = self._names(side)
        return bool(names & self.taps) and not names & self.positions

    def is_window(self, position: ast.expr, tap: ast.expr) -> bool:
        """No block that starts where the program does, and no two indices made one, `row * columns + column`."""
        if not (self.is_position(position) and self.is_tap(tap)):
            return False
        if not self.has_lanes(position) and (self.has_lanes(tap) or self._scales(tap, self.blocks)):
            return False
        return not self._scales(position, self.bounds | self.blocks)

    def _scales(self, side: ast.expr, sizes: set[str]) -> bool:
        """Some term of it is a product with one of these sizes."""
        terms = [side]
        while terms:
            term = terms.pop()
            match term:
                case ast.BinOp(op=ast.Add() | ast.Sub()):
                    terms += [term.left, term.right]
                case ast.BinOp(op=ast.Mult()):
                    if {ast.unparse(term.left), ast.unparse(term.right)} & sizes:
                        return True
                case ast.Subscript():
                    terms.append(term.value)
        return False

    def has_lanes(self, side: ast.expr) -> bool:
        return bool(self.flow.origins(side) & self.lanes) or "arange" in ast.unparse(side)


def _read_positions_and_taps(function: JitFunction, source: KernelSource) -> _PositionsAndTaps:
    flow = function.flow
    stores = [call.node for call in function.calls if call.operation in STORES and call.node.args]
    stored_at = flow.origins(*(store.args[0] for store in stores)) & frozenset(flow.by_name)
    storing = [loop for loop in function.loops if _stores(loop, stores)]
    turns = frozenset(index for loop in storing for index in loop.indices)
    summed = frozenset(index for loop in function.loops if loop not in storing for index in loop.indices)
    barriers = load_calls(function, source) | reduction_calls(function, source)
    queries = [call.node for call in function.calls_of("program_id")]
    changing = Dependence(flow, queries, barriers, {name: ast.Name(name) for name in turns})
    lanes = frozenset(name for name in flow.by_name if _is_lane(name, function))
    placed = frozenset(name for name in stored_at if changing.behind(*flow.values_of(name)))
    contracted = frozenset(n for n in lanes - stored_at if not changing.behind(*flow.values_of(n)))
    return _PositionsAndTaps(function, summed | contracted, (placed | turns) - summed, lanes, barriers)


def _stores(loop: KernelLoop, stores: list[ast.Call]) -> bool:
    return any(loop.flow.syntax.contains(part, store) for store in stores for part in loop.node.body)


def _is_lane(name: str, function: JitFunction) -> bool:
    aranges = {call.node for call in function.calls_of("arange")}
    values = function.flow.values_of(name)
    return any(node in aranges for value in values for node in function.flow.syntax.inside(value))


def _shifts(load: ast.Call, places: _PositionsAndTaps) -> bool:
    masks = [keyword.value for keyword in load.keywords if keyword.arg == "mask"]
    for value in places.flow.values_behind(*load.args[:2], *masks):
        for total in _scaled_or_tested(value, places):
            left, right = total.left, total.right
            if places.is_window(left, right) or places.is_window(right, left):
                return True
    return False


def _scaled_or_tested(value: ast.AST, places: _PositionsAndTaps) -> Iterator[ast.BinOp]:
    """Sums that are a factor, divided, or compared with a border, named or written in place."""
    for node in places.flow.syntax.inside(value):
        sides: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.FloorDiv, ast.Mod)):
            sides = [node.left, node.right]
        elif isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
            sides = [] if any(places.is_tap(side) or _is_product(side) for side in compared) else compared
        for side in sides:
            yield from _sums(side, places.flow)


def _is_product(border: ast.expr) -> bool:
    """`M * K`: as many elements as there are, not the length of an axis."""
    return isinstance(border, ast.BinOp) and isinstance(border.op, ast.Mult)


def _sums(side: ast.expr, flow: Flow, depth: int = 0) -> Iterator[ast.BinOp]:
    while isinstance(side, ast.Subscript):
        side = side.value
    if isinstance(side, ast.BinOp) and isinstance(side.op, (ast.Add, ast.Sub)):
        yield side
        yield from _sums(side.left, flow, depth)
    elif isinstance(side, ast.Name) and depth < 3:
        for binding in flow.by_name.get(side.id, ()):
            if isinstance(binding.value, ast.expr):
                yield from _sums(binding.value, flow, depth + 1)


FEWEST_AGES = 2


def weighs_last_inputs(function: JitFunction, source: KernelSource) -> bool:
    """`y = w0 * before + w1 * x; before = x`, with `y` stored in every turn."""
    return any(_DelayLine(loop, function, source).is_weighed() for loop in function.loops if stores_in(loop))


class _DelayLine:
    def __init__(self, loop: KernelLoop, function: JitFunction, source: KernelSource) -> None:
        self.loop, self.function, self.flow = loop, function, loop.flow
        loads = load_calls(function, source)
        self.loaded = Dependence(function.flow, loads, loads)
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
