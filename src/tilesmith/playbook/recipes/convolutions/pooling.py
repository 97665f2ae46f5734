"""Pools behind a convolution whose windows lie side by side: every tile has whole ones, and writes what is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import NamedTuple

from tilesmith.playbook.graph.lowering import list_outputs
from tilesmith.playbook.graph.operators import find_needed_nodes, operator_name
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Graph, Node, reference

_LARGEST_WINDOW = 16


@dataclass(frozen=True)
class Pool:
    before: Graph
    """The region up to what is pooled, which is its one output."""
    kind: str
    """`max` or `avg`"""
    window: tuple[int, ...]
    """For each dimension of an image."""

    @property
    def size(self) -> int:
        return prod(self.window)


class _Slice(NamedTuple):
    source: str
    first: tuple[int, ...]
    """The place along each dimension that it begins with."""
    steps: tuple[int, ...]


def find_pool(graph: Graph) -> Pool | None:
    """The pool that a region ends with, written out as it is: a maximum, or a mean, of slices."""
    outputs, nodes = list_outputs(graph), {node.name: node for node in graph.nodes}
    root = nodes.get(outputs[0]) if len(outputs) == 1 else None
    divisor = None
    if root is not None and operator_name(root) == "div" and len(root.args) == 2:
        divisor, root = root.args[1], nodes.get(reference(root.args[0]) or "")
    combiner = "maximum" if divisor is None else "add"
    if root is None or operator_name(root) != combiner:
        return None
    slices = [_find_slice(nodes, one) for one in _find_parts(nodes, root, combiner)]
    found = [one for one in slices if one is not None and one.source == (slices[0] or one).source]
    if len(found) < len(slices):
        return None
    rank = len(found[0].first)
    window = tuple(1 + max(one.first[axis] for one in found) for axis in range(2, rank))
    places = sorted(one.first for one in found)
    if places != [(0, 0, *one) for one in product(*map(range, window))] or divisor not in (None, prod(window)):
        return None
    if prod(window) == 1 or any(one.steps != (1, 1, *window) for one in found):
        return None
    if prod(window) & (prod(window) - 1) or prod(window) > _LARGEST_WINDOW:
        raise Unmatched("pools windows that do not fill a tile")
    whole = replace(graph, outputs={"tuple": [{"node": found[0].source}]})
    kind = "max" if divisor is None else "avg"
    return Pool(replace(whole, nodes=tuple(find_needed_nodes(whole))), kind, window)


def _find_parts(nodes: dict[str, Node], node: Node, combiner: str) -> list[Node]:
    """What a tree of one operator combines."""
    operands = [nodes.get(reference(one) or "") for one in node.args]
    known = [one for one in operands if one is not None]
    if operator_name(node) != combiner or len(known) != 2 or len(node.args) != 2 or node.kwargs:
        return [node]
    return [part for one in known for part in _find_parts(nodes, one, combiner)]


def _find_slice(nodes: dict[str, Node], node: Node) -> _Slice | None:
    first, steps = [0] * len(node.shape or ()), [1] * len(node.shape or ())
    while operator_name(node) == "slice":
        source = nodes.get(reference(node.args[0]) or "")
        if source is None or len(node.args) != 5 or steps[node.args[1]] != 1:
            return None
        _, axis, at, end, step = node.args
        if end != (at + 1 - step or None):  # to the last whole window
            return None
        first[axis], steps[axis], node = at, step, source
    return _Slice(node.name, tuple(first), tuple(steps))
