"""Which concatenations of a pass are addresses: what convolutions make and convolve, side by side in one buffer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import le
from typing import NamedTuple

from tilesmith.playbook.graph.operators import ALIASES, CONVOLUTIONS, POINTWISE, operator_name
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.recipes.convolutions.chains.concatenations import list_parts
from tilesmith.tasks.graph import Graph, Node, reference, references
from tilesmith.tasks.numbers.varying import always, same

_KEEPING = POINTWISE | ALIASES | {"batch_norm", "slice", "constant_pad_nd"}
"""Operators between convolutions, those of a pool included."""
_BEFORE = {"batch_norm", "relu", "relu6", "silu", "gelu", "leaky_relu", "hardswish", "elu"}
"""Operators that a convolution may do to its images when it reads them."""


class BufferPlace(NamedTuple):
    """Where a value lies in a buffer."""

    buffer: str
    """Named after one of the values in it."""
    first: int
    """The channel from which on it is there."""


@dataclass(frozen=True)
class Buffer:
    """Values side by side."""

    parts: tuple[str, ...]
    """In their order."""
    numbers: dict[str, tuple[int, ...]]
    """Which of the parts a value is, or those that it joins; then, where they end."""


@dataclass(frozen=True)
class SharedImages:
    """Concatenations that are no work of their own, and nodes that belong to the convolutions behind them."""

    joined: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()


def find_shared_images(graph: Graph, unchained: Collection[str]) -> SharedImages:
    """Those that some convolution reads, and those that have a part in common with one of them."""
    nodes = {node.name: node for node in graph.nodes}
    users: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in set(references([node.args, node.kwargs])):
            users.setdefault(name, []).append(node)
    joins = {node.name: list_parts(node) for node in graph.nodes if list_parts(node)}
    made = {name for name, parts in joins.items() if any(_is_convolved(one, nodes, joins) for one in parts)}
    made = {name for name in made if not set(joins[name]) <= set(unchained)}
    made = {name for name in made if all(find_channels(graph, one) for one in joins[name])}
    wanted = {name for name in made if _feeds_convolution(name, users)}
    parts = {part for name in wanted for part in joins[name]} | wanted
    wanted |= {name for name in made if parts & set(joins[name])}
    widths = {
        one.name: (one.shape or (0, 0))[1] for one in (*graph.leaves, *graph.nodes) if len(one.shape or ()) > 1
    }
    kept: list[str] = []
    for name in (one for one in joins if one in wanted):
        if find_places({one: joins[one] for one in (*kept, name)}, widths) is not None:
            kept.append(name)
    joined = frozenset(kept)
    shared = joined | {part for name in joined for part in joins[name]}
    before = {one for name in shared for one in _list_before(name, users)}
    return SharedImages(joined, frozenset(before))


def _is_convolved(name: str, nodes: Mapping[str, Node], joins: Mapping[str, Sequence[str]]) -> bool:
    """Whether a value comes from a convolution, with nothing but pointwise work and pools in between."""
    waiting, seen = [name], set[str]()
    while waiting:
        node = nodes.get(waiting.pop())
        if node is None or node.name in seen:
            continue
        seen.add(node.name)
        if operator_name(node) in CONVOLUTIONS and "transpose" not in node.op:
            return True
        if node.name in joins or operator_name(node) in _KEEPING:
            waiting += list(references(node.args))
    return False


def _feeds_convolution(name: str, users: Mapping[str, Sequence[Node]]) -> bool:
    waiting, seen = [name], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for user in users.get(name, ()):
            if operator_name(user) in CONVOLUTIONS and "transpose" not in user.op:
                return True
            if operator_name(user) in _KEEPING or list_parts(user):
                waiting.append(user.name)
    return False


def _list_before(name: str, users: Mapping[str, Sequence[Node]]) -> list[str]:
    """Nodes in a row that only one convolution needs, each of them the only one to need the one before."""
    found: list[str] = []
    for node in users.get(name, ()):
        row, user = [], node
        while operator_name(user) in _BEFORE and len(users.get(user.name, ())) == 1:
            row.append(user.name)
            user = users[user.name][0]
        is_image = operator_name(user) in CONVOLUTIONS and reference(user.args[0]) == (row or [name])[-1]
        found += row if is_image and "transpose" not in user.op else []
    return found


def find_channels(graph: Graph, value: str) -> list[tuple[str, int]]:
    """Sizes of leaves of the pass that a value's channels are the sum of; none where nobody knows them before it is
    there."""
    nodes = {node.name: node for node in graph.nodes}
    shapes = {one.name: one.shape or () for one in (*graph.leaves, *graph.nodes)}
    while value in nodes:
        node = nodes[value]
        if operator_name(node) in CONVOLUTIONS:
            weight = str(reference(node.args[1]))
            is_plain = "transpose" not in node.op or find_argument(node, 6, "groups", 1) == 1
            return [(weight, 1 if "transpose" in node.op else 0)] if is_plain and weight not in nodes else []
        if parts := list_parts(node):
            found = [find_channels(graph, part) for part in parts]
            return [size for one in found for size in one] if all(found) else []
        operands = [one for one in references(node.args) if len(shapes[one]) == len(shapes[value])]
        alike = [one for one in operands if same(shapes[one][1], shapes[value][1])]
        if not alike or operator_name(node) not in _KEEPING:
            return []
        value = alike[0]
    return [(value, 1)]


def find_places(joins: Mapping[str, Sequence[str]], widths: Mapping[str, int]) -> dict[str, BufferPlace] | None:
    """Where every value lies that is joined or joins, all in as few buffers as possible; None where they cannot."""
    found: dict[str, BufferPlace] = {}
    for name, parts in joins.items():
        first = 0
        for value, offset in [(name, 0), *_offsets(parts, widths)]:
            place, own = found.setdefault(name, BufferPlace(name, 0)), found.get(value)
            first = place.first + offset
            if own is None:
                found[value] = BufferPlace(place.buffer, first)
            elif own.buffer == place.buffer and not same(own.first, first):
                return None
            elif own.buffer != place.buffer:
                moved = {one: at for one, at in found.items() if at.buffer == own.buffer}
                for one, at in moved.items():
                    found[one] = BufferPlace(place.buffer, at.first - own.first + first)
    least: dict[str, int] = {}
    for place in found.values():
        least[place.buffer] = min(place.first, least.get(place.buffer, place.first))
    places = {name: BufferPlace(at.buffer, at.first - least[at.buffer]) for name, at in found.items()}
    return places if _is_apart(joins, places, widths) else None


def _offsets(parts: Sequence[str], widths: Mapping[str, int]) -> list[tuple[str, int]]:
    ends = [sum(widths[one] for one in parts[:i]) for i in range(len(parts))]
    return list(zip(parts, ends, strict=True))


def _is_apart(
    joins: Mapping[str, Sequence[str]], places: Mapping[str, BufferPlace], widths: Mapping[str, int]
) -> bool:
    """Whether no two values are in the same place, but what is joined and its parts."""
    if any(len(set(parts)) < len(parts) for parts in joins.values()):
        return False
    taken: dict[str, list[tuple[int, int]]] = {}
    for name, place in places.items():
        if name not in joins:
            taken.setdefault(place.buffer, []).append((place.first, place.first + widths[name]))
    for spans in taken.values():
        spans.sort()
        if any(not always(le, end, begin) for (_, end), (begin, _) in pairwise(spans)):
            return False
    return True


def find_buffers(joins: Mapping[str, Sequence[str]], widths: Mapping[str, int]) -> list[Buffer]:
    places = find_places(joins, widths) or {}
    found: list[Buffer] = []
    for buffer in dict.fromkeys(place.buffer for place in places.values()):
        inside = {name: place.first for name, place in places.items() if place.buffer == buffer}
        parts = sorted((name for name in inside if name not in joins), key=inside.__getitem__)
        number = {inside[part]: i for i, part in enumerate(parts)}
        numbers: dict[str, tuple[int, ...]] = {part: (i,) for i, part in enumerate(parts)}
        for name in inside.keys() & joins.keys():
            count = sum(1 for part in parts if 0 <= inside[part] - inside[name] < widths[name])
            own = [number[inside[part]] for part in joins[name]]
            numbers[name] = (*own, own[0] + count)
        found.append(Buffer(tuple(parts), numbers))
    return found
