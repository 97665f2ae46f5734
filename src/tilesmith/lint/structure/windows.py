"""Convolution by structure: an input address in which an output position and a filter tap are added first.

In a matrix product the loop's index moves along an axis of its own. In a convolution it shifts the output's
position, `ih = oh * stride + kh - pad`; that sum is then scaled by a stride or tested against the border.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilesmith.lint.model.flow import Flow
from tilesmith.lint.model.source import JitFunction
from tilesmith.lint.vocabulary import LOADS, STORES


def slides_window(function: JitFunction) -> bool:
    """Some load in a loop reads at output position plus tap, and products are summed up."""
    loads = {call.node for loop in function.loops for call in loop.calls if call.operation in LOADS}
    if not loads or not _sums_products(function):
        return False
    places = _read_places(function)
    return any(_shifts(load, places) for load in loads)


@dataclass(frozen=True)
class _Places:
    flow: Flow
    taps: frozenset[str]
    """Indices of loops."""
    program_ids: frozenset[str]
    positions: frozenset[str]
    """Names the stores' addresses are made of and that differ between programs."""

    def is_position(self, side: ast.expr) -> bool:
        """A bare program id must stand there itself: in a split-K product one lies behind the offset."""
        origins = self.flow.origins(side)
        near = self.flow.syntax.names(side) & self.positions
        return bool(near or origins & (self.positions - self.program_ids)) and not origins & self.taps

    def is_tap(self, side: ast.expr) -> bool:
        origins = self.flow.origins(side)
        return bool(origins & self.taps) and not origins & self.positions


def _read_places(function: JitFunction) -> _Places:
    flow = function.flow
    stores = [call.node for call in function.calls if call.operation in STORES and call.node.args]
    stored_at = flow.origins(*(store.args[0] for store in stores)) & frozenset(flow.by_name)
    queries = {call.node for call in function.calls_of("program_id")}
    program_ids = frozenset(b.name for b in flow.bindings if b.value in queries)
    differing = {name for name in stored_at if _depends(name, flow, program_ids, queries)}
    taps = frozenset(index for loop in function.loops for index in loop.indices)
    return _Places(flow, taps, program_ids, frozenset(differing) - taps)


def _depends(name: str, flow: Flow, program_ids: frozenset[str], queries: set[ast.Call]) -> bool:
    """On which program it is, by name or by a query written in place."""
    values = [binding.value for binding in flow.by_name[name]]
    if name in program_ids or flow.origins(*values) & program_ids:
        return True
    return any(part in queries for value in values for part in flow.syntax.inside(value))


def _shifts(load: ast.Call, places: _Places) -> bool:
    masks = [keyword.value for keyword in load.keywords if keyword.arg == "mask"]
    for value in places.flow.values_behind(*load.args[:2], *masks):
        for total in _scaled_or_tested(value, places.flow):
            sides = (total.left, total.right)
            if any(map(places.is_position, sides)) and any(map(places.is_tap, sides)):
                return True
    return False


def _scaled_or_tested(value: ast.AST, flow: Flow) -> Iterator[ast.BinOp]:
    """Sums that are a factor of a product or a side of a comparison, named or written in place."""
    for node in flow.syntax.inside(value):
        sides: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = [node.left, node.right]
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        for side in sides:
            yield from _sums(side, flow)


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


def _sums_products(function: JitFunction) -> bool:
    """A dot, or a product of two loaded values: what tells a convolution from a pooling."""
    if function.calls_of("dot"):
        return True
    loads = {call.node for call in function.calls if call.operation in LOADS}
    flow = function.flow
    loaded = {b.name for b in flow.bindings if any(part in loads for part in flow.syntax.inside(b.value))}

    def is_loaded(side: ast.expr) -> bool:
        return bool(flow.syntax.names(side) & loaded) or any(part in loads for part in flow.syntax.inside(side))

    products = [n for n in function.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)]
    return any(is_loaded(product.left) and is_loaded(product.right) for product in products)
