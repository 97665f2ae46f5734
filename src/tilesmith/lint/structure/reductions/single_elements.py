"""Single elements that a kernel picks out of its data: the target's logit in a loss."""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.source_cache import cached_per_source
from tilesmith.lint.structure.addresses.buffers import buffers
from tilesmith.lint.structure.device_flow.dependence import Dependence, Marks, load_calls
from tilesmith.lint.vocabulary import STORES


@cached_per_source
def picks(function: JitFunction, source: KernelSource) -> Marks:
    """`tl.load(row + target)` beside a load of the whole row, where the target was loaded; `row[target]`."""
    loads = [load for load in load_calls(function, source) if isinstance(load, ast.Call) and load.args]
    placed = Dependence(function.flow, loads, loads)
    starts = {load: buffers(function, load.args[0]) for load in loads}
    widest: dict[str, int] = {}
    for load, names in starts.items():
        widest.update({name: max(_extent(load, function), widest.get(name, 0)) for name in names})
    found: set[ast.AST] = {node for node in function.nodes if _is_element(node)}
    for load, names in starts.items():
        beside_wider = any(_extent(load, function) < widest[name] for name in names)
        if beside_wider and placed.behind(load.args[0]):
            found.add(load)
    return frozenset(found)


def _is_element(node: ast.AST) -> bool:
    """An index that is a name: Triton refuses it, but what is meant is clear."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)


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
