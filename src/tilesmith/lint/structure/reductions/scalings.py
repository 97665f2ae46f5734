"""Where one value is scaled by another, and single elements that a kernel picks: the target's logit in a loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tilesmith.lint.model.source import JitFunction, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import arguments_by_name
from tilesmith.lint.model.syntax.flow import operands
from tilesmith.lint.structure.addresses.buffers import buffers, helper_calls
from tilesmith.lint.structure.device_flow.value_flow import Dependence, Marks, load_calls, loaded_data
from tilesmith.lint.structure.reductions.reduction_sites import stored_values
from tilesmith.lint.vocabulary import STORES, words

DIVISIONS = words("fdiv div_rn")
DEEPEST_CALL = 3


class Scaling(NamedTuple):
    node: ast.AST
    block: ast.expr
    """What may be the data."""
    scale: ast.expr


def scalings(function: JitFunction, source: KernelSource) -> Iterator[Scaling]:
    """Of a function itself and of the functions it hands both values to."""
    yield from _own(function)
    yield from _handed_over(function, source, DEEPEST_CALL)


def _own(function: JitFunction) -> Iterator[Scaling]:
    for node in function.nodes:
        found = operands(node)
        if found is not None and isinstance(found.op, (ast.Div, ast.Mult, ast.Sub)):
            yield Scaling(node, found.left, found.right)
            if isinstance(found.op, ast.Mult):
                yield Scaling(node, found.right, found.left)
    for call in function.calls_of(*DIVISIONS):
        if len(call.node.args) >= 2:
            yield Scaling(call.node, call.node.args[0], call.node.args[1])


def _handed_over(function: JitFunction, source: KernelSource, depth: int) -> Iterator[Scaling]:
    for call, callee in helper_calls(source, function):
        given = arguments_by_name(callee.params, call)
        for block, scale in _scaled_params(callee, source, depth):
            if block in given and scale in given:
                yield Scaling(call, given[block], given[scale])


@cached_per_source
def _scaled_params(callee: JitFunction, source: KernelSource, depth: int) -> frozenset[tuple[str, str]]:
    """Which parameter is scaled by which, on the way to what the function hands back."""
    if not depth:
        return frozenset()
    kept = set(callee.flow.parts_behind(*stored_values(callee)))
    inner = [*_own(callee), *_handed_over(callee, source, depth - 1)]
    used = [found for found in inner if found.node in kept and not _subtracts(found.node)]
    params = frozenset(callee.params) - callee.constexprs
    return frozenset(
        (block, scale)
        for found in used
        for block in callee.flow.origins(found.block) & params
        for scale in callee.flow.origins(found.scale) & params
        if block != scale
    )


def _subtracts(node: ast.AST) -> bool:
    found = operands(node)
    return found is not None and isinstance(found.op, ast.Sub)


@cached_per_source
def picks(function: JitFunction, source: KernelSource) -> Marks:
    """`tl.load(row + target)` beside a load of the whole row, where the target was loaded; `row[target]`."""
    loads = [load for load in load_calls(function, source) if isinstance(load, ast.Call) and load.args]
    placed = loaded_data(function, source)
    starts = {load: buffers(function, load.args[0]) for load in loads}
    widest: dict[str, int] = {}
    for load, names in starts.items():
        widest.update({name: max(_extent(load, function), widest.get(name, 0)) for name in names})
    # an index that is a name: Triton refuses it, but what is meant is clear
    found: set[ast.AST] = {
        node for node in function.nodes if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)
    }
    for load, names in starts.items():
        beside_wider = any(_extent(load, function) < widest[name] for name in names)
        if beside_wider and placed.behind(load.args[0]):
            found.add(load)
    return frozenset(found)


def _extent(load: ast.Call, function: JitFunction) -> int:
    """Along how many axes it runs."""
    shape = function.value(load).shape
    return 0 if shape is None else sum(size != 1 for size in shape)


@cached_per_source
def changed_in_place(function: JitFunction, source: KernelSource) -> Marks:
    """What a loss writes back over the data it picked from: a gradient, and not the result."""
    picked = [node for node in picks(function, source) if isinstance(node, ast.Call)]
    if not picked:
        return frozenset()
    behind = Dependence(function.flow, picked, load_calls(function, source))
    origins = frozenset().union(*(buffers(function, load.args[0]) for load in picked))
    stores = [call.node for call in function.calls if call.operation in STORES and len(call.node.args) > 1]
    inside = {store.args[1] for store in stores if buffers(function, store.args[0]) & origins}
    is_loss = any(store.args[1] not in inside and behind.behind(store.args[1]) for store in stores)
    return frozenset(inside) if is_loss else frozenset()
