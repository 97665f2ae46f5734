"""Products of loaded values that are added up without `tl.dot`, with the loops that add them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.sizes.possible_numbers import device_numbers
from tilesmith.lint.model.source import KernelLoop, KernelSource, cached_per_source
from tilesmith.lint.structure.addresses.coordinates import Coordinate, Coordinates
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode, frames_of
from tilesmith.lint.structure.device_flow.value_flow import Dependence, ValueFlow, loaded_data
from tilesmith.lint.structure.reductions.accumulation import ONLY_SUMS, carried_by
from tilesmith.lint.structure.reductions.contractions import contractions
from tilesmith.lint.vocabulary import DOTS, LOADS, STORES

FEW_TURNS = 8
"""A sum of so few products is too short for a tensor core."""
Turns = tuple[CallFrame, KernelLoop]


@dataclass(frozen=True, eq=False)
class SummedProduct:
    frame: CallFrame
    node: ast.AST
    kind: str
    """`sum` over a block, or `turns` of a loop."""
    factors: tuple[ast.expr, ...]
    source: KernelSource
    coordinates: Coordinates

    @cached_property
    def loops(self) -> tuple[Turns, ...]:
        """The loops whose turns add it up, outermost first, the caller's before the callee's."""
        return tuple(reversed(list(self._adding_loops(self.frame, self.node))))

    def _adding_loops(self, frame: CallFrame, node: ast.AST) -> Iterator[Turns]:
        statement = _statement(node, frame)
        names = _targets(statement)
        around = frame.function.loops_around(node)
        carrying = [loop for loop in around if names & loop.carried]
        yield from ((frame, loop) for loop in reversed(carrying))
        if isinstance(statement, ast.Return) and frame.caller is not None and frame.call is not None:
            yield from self._adding_loops(frame.caller, frame.call)

    @cached_property
    def adds_only(self) -> bool:
        """The loops do nothing with the total but add to it."""
        for frame, loop in self.loops:
            flow = ValueFlow.of(loop.flow, self.source)
            name = next(iter(_targets(_statement(self.node, self.frame)) & loop.carried), None)
            if frame is not self.frame or name is None:
                continue
            if carried_by(name, flow, self.source) != ONLY_SUMS or _is_used(name, loop):
                return False
        return True

    @cached_property
    def is_short(self) -> bool:
        """The innermost loop is known to take only a few turns, or is unrolled and not known to take many."""
        if not self.loops:
            return False
        frame, loop = self.loops[-1]
        if isinstance(loop.node, ast.While) or not 1 <= len(loop.bounds) <= 2:
            return loop.static
        turns = None if frame.caller else device_numbers(self.source, frame.function, loop.bounds[-1])
        return loop.static if turns is None else max(turns) <= FEW_TURNS

    @cached_property
    def has_dot(self) -> bool:
        """A factor comes out of `tl.dot` already: this only scales it."""
        dots = [call.node for call in self.frame.function.calls_of(*DOTS)]
        return bool(dots) and bool(Dependence(self.frame.function.flow, dots, dots).behind(*self.factors))

    def loads_each_turn(self, factor: ast.expr) -> list[ast.Call]:
        """Loads behind a factor whose address moves with the innermost loop."""
        frame, loop = self.loops[-1]
        if frame is not self.frame:
            return []
        moving = loop.indices | loop.carried
        inside = [call.node for call in loop.calls if call.operation in LOADS and call.node.args]
        behind = self._loads(factor)
        return [load for load in inside if load in behind and loop.flow.origins(load.args[0]) & moving]

    def _loads(self, factor: ast.expr) -> frozenset[ast.AST]:
        return loaded_data(self.frame.function, self.source).behind(factor)

    def places(self, factor: ast.expr) -> frozenset[Coordinate]:
        """Coordinates of the addresses a factor is loaded from, except those of the turns that add up."""
        loads = [load for load in self._loads(factor) if isinstance(load, ast.Call) and load.args]
        addresses = [FramedNode(load.args[0], self.frame) for load in loads]
        found = self.coordinates.of(*addresses)
        turns = {Coordinate(frame, index) for frame, loop in self.loops for index in loop.indices}
        return found - turns

    def is_reused(self, one: ast.expr, other: ast.expr, by_outputs: bool = False) -> bool:
        """Each factor meets many of the other, as in a matrix product; `by_outputs`: in different results."""
        first, second = self.places(one), self.places(other)
        pairs = ((first, second), (second, first))
        return all(self._own(mine, others, by_outputs) for mine, others in pairs)

    def _own(self, one: frozenset[Coordinate], other: frozenset[Coordinate], by_outputs: bool) -> bool:
        found = self.coordinates.own(one, other)
        return any(not by_outputs or self.coordinates.is_covered(c, self._outputs) for c in found)

    @cached_property
    def _outputs(self) -> frozenset[Coordinate]:
        """What tells the stored results apart."""
        root = self.frame.root
        stores = [call.node for call in root.function.calls if call.operation in STORES and call.node.args]
        return self.coordinates.of(*(FramedNode(store.args[0], root) for store in stores))


@cached_per_source
def summed_products(source: KernelSource) -> tuple[SummedProduct, ...]:
    """Of all kernels that run; a called function counts once for each place that calls it."""
    coordinates = Coordinates(source)
    found = []
    for frame in frames_of(source):
        for made in contractions(frame.function, source):
            if made.kind != "dot" and len(made.factors) > 1:
                found.append(SummedProduct(frame, made.node, made.kind, made.factors, source, coordinates))
        for node, factors in returned_products(frame):
            product = SummedProduct(frame, node, "turns", factors, source, coordinates)
            if product.loops and all(product.places(factor) for factor in factors):
                found.append(product)
    return tuple(found)


def returned_products(frame: CallFrame) -> Iterator[tuple[ast.AST, tuple[ast.expr, ...]]]:
    """`return x * w` in a function whose caller adds the result up."""
    for node in frame.function.nodes if frame.caller is not None else ():
        match node:
            case ast.Return(value=ast.BinOp(op=ast.Mult(), left=left, right=right)):
                yield node, (left, right)


def _statement(node: ast.AST, frame: CallFrame) -> ast.AST:
    above = frame.function.flow.syntax.ancestors(node)
    return node if isinstance(node, ast.stmt) else next(a for a in above if isinstance(a, ast.stmt))


def _targets(statement: ast.AST) -> set[str]:
    match statement:
        case ast.Assign():
            return {target.id for target in statement.targets if isinstance(target, ast.Name)}
        case ast.AugAssign(target=ast.Name(id=name)) | ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
    return set()


def _is_used(name: str, loop: KernelLoop) -> bool:
    """Read in the loop by anything but its own assignments."""
    syntax = loop.flow.syntax
    own = [binding.value for binding in loop.flow.by_name[name]]
    reads = [n for n in syntax.inside(*loop.node.body) if isinstance(n, ast.Name) and n.id == name]
    loads = [n for n in reads if isinstance(n.ctx, ast.Load)]
    return any(not any(syntax.contains(value, node) for value in own) for node in loads)
