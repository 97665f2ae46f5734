"""Pools behind a convolution whose windows lie side by side: every tile has whole ones, and writes what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod
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
    ends: tuple[int | None, ...]
    steps: tuple[int, ...]


class PooledWindows(NamedTuple):
    """A pool, written out as it is: a maximum, or a mean, of slices."""

    source: str
    """What is pooled: a node or an input."""
    kind: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    before: tuple[int, ...]
    """Places before an image that a window may have."""
    after: tuple[int, ...]


def find_pool(graph: Graph) -> Pool | None:
    """The pool that a region ends with, where windows lie side by side."""
    found = find_windows(graph)
    if found is None or found.source not in {node.name for node in graph.nodes}:
        return None
    if found.stride != found.size or any(found.before + found.after):
        raise Unmatched("pools windows that overlap, or reach beyond an image")
    if prod(found.size) & (prod(found.size) - 1) or prod(found.size) > _LARGEST_WINDOW:
        raise Unmatched("pools windows that do not fill a tile")
    whole = replace(graph, outputs={"tuple": [{"node": found.source}]})
    return Pool(replace(whole, nodes=tuple(find_needed_nodes(whole))), found.kind, found.size)


def find_windows(graph: Graph) -> PooledWindows | None:
    """The pool that a region ends with."""
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
    if len(found) < len(slices) or any(one.steps != found[0].steps for one in found):
        return None
    size = tuple(1 + max(places) for places in zip(*(one.first for one in found), strict=True))
    places = sorted(one.first for one in found)
    if places != [*product(*map(range, size))] or size[:2] != (1, 1) or divisor not in (None, prod(size)):
        return None
    if any(one.ends[i] != (one.first[i] + 1 - size[i] or None) for one in found for i in range(2, len(size))):
        return None
    source, around = found[0].source, [0] * (2 * len(size) - 4)
    padding = nodes.get(source)
    if padding is not None and operator_name(padding) == "constant_pad_nd" and divisor is None:
        around, border = list(padding.args[1]), padding.args[2]
        border = float(border["float"]) if isinstance(border, Mapping) else border
        if len(around) != 2 * len(size) - 4 or border != -inf:
            return None
        source = reference(padding.args[0]) or ""
    before, after = tuple(around[-2::-2]), tuple(around[::-2])
    kind = "max" if divisor is None else "avg"
    return PooledWindows(source, kind, size[2:], found[0].steps[2:], before, after) if prod(size) > 1 else None


def _find_parts(nodes: dict[str, Node], node: Node, combiner: str) -> list[Node]:
    """What a tree of one operator combines."""
    operands = [nodes.get(reference(one) or "") for one in node.args]
    known = [one for one in operands if one is not None]
    if operator_name(node) != combiner or len(known) != 2 or len(node.args) != 2 or node.kwargs:
        return [node]
    return [part for one in known for part in _find_parts(nodes, one, combiner)]


def _find_slice(nodes: dict[str, Node], node: Node) -> _Slice | None:
    rank = len(node.shape or ())
    first, ends, steps = [0] * rank, list[int | None]([None] * rank), [1] * rank
    seen: set[int] = set()
    while operator_name(node) == "slice":
        if len(node.args) != 5 or node.args[1] in seen:
            return None
        operand, axis = node.args[:2]
        first[axis], ends[axis], steps[axis] = node.args[2:]
        seen.add(axis)
        source = nodes.get(reference(operand) or "")
        if source is None:
            return _Slice(reference(operand) or "", tuple(first), tuple(ends), tuple(steps))
        node = source
    return _Slice(node.name, tuple(first), tuple(ends), tuple(steps))
