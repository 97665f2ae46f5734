"""Running sums of matrices as loops: a state that a slice is added to at every step.

Linear attention is often written as `einsum("nd,nde->ne", q, cumsum(k[:, :, None] * v[:, None, :], 0))`: a whole
matrix for every step, which is written and read. `tril(q @ k.T) @ v` is the same, and costs more where it is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tilesmith.playbook.graph.loops import JOIN, SELECT, STATE, Loop
from tilesmith.playbook.graph.operators import operator_name
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.tasks.graph import Graph, Node, reference, references

LEAST_LENGTH = 2048
"""Steps with which scores under a triangle cost more than sums, a chunk of steps at a time."""
_PRODUCTS, _TURNS = ("matmul", "bmm"), ("transpose", "mT")


def find_running_sums(graph: Graph) -> Iterator[Loop]:
    """The names of a loop are those of the nodes from what is summed to what first sums over the results."""
    for node in graph.nodes:
        written, core = _summed_triangle(node, graph), list[str]()
        if written:
            core = [node.name, *references(node.args[:1])]
            core += references([one.args[:1] for one in graph.nodes if one.name == core[1]])
            yield from _as_loops(_replaced(graph, node, written), written[3], core)
        elif operator_name(node) == "cumsum" and len(node.shape or ()) > 2:
            yield from _as_loops(graph, node, _core(graph, node))


def _core(graph: Graph, sums: Node) -> list[str]:
    found = [*references(sums.args[:1]), sums.name]
    needed = {*references([graph.outputs, list(graph.assigned.values())])}
    while found[-1] not in needed:
        users = [one for one in graph.nodes if found[-1] in references([one.args, one.kwargs])]
        found += [one.name for one in users] if len(users) == 1 else []
        if len(users) != 1 or operator_name(users[0]) not in ("mul", "unsqueeze"):
            break
    return found


def _as_loops(graph: Graph, sums: Node, core: list[str]) -> Iterator[Loop]:
    source = next((one for one in graph.nodes if one.name == reference(sums.args[0])), None)
    if source is None or source.dtype != sums.dtype:
        return
    shape = sums.shape or ()
    dim = find_argument(sums, 1, "dim") % len(shape)
    form = (*shape[:dim], *shape[dim + 1 :])
    now, start, state, made = (f"{sums.name}_{one}" for one in ("now", "start", "state", "made"))
    written = [
        _node(now, SELECT, ({"node": source.name}, dim, "step", False), form, sums),
        _node(start, "aten.zeros_like.default", ({"node": now},), form, sums),
        _node(state, STATE, ({"node": start},), form, sums),
        _node(made, "aten.add.Tensor", ({"node": state}, {"node": now}), form, sums),
        _node(sums.name, JOIN, ({"node": made}, dim, False), shape, sums),
    ]
    rolled = _replaced(graph, sums, written)
    yield Loop(rolled, frozenset(core), shape[dim], False, ((state, made),), {}, is_written=False)


def _summed_triangle(node: Node, graph: Graph) -> list[Node]:
    """`tril(q @ k.mT) @ v` as a product with the running sum of all `k x v`."""
    if operator_name(node) not in _PRODUCTS or len(node.shape or ()) < 2:
        return []
    nodes, (*batch, steps, width) = {one.name: one for one in graph.nodes}, node.shape or ()
    triangle = nodes.get(str(reference(node.args[0])))
    if triangle is None or operator_name(triangle) != "tril" or find_argument(triangle, 1, "diagonal", 0) != 0:
        return []
    scores = nodes.get(str(reference(triangle.args[0])))
    if scores is None or operator_name(scores) not in _PRODUCTS or steps < LEAST_LENGTH:
        return []
    turned = nodes.get(str(reference(scores.args[1])))
    if turned is None or operator_name(turned) not in _TURNS or scores.shape != (*batch, steps, steps):
        return []
    *others, depth, last = turned.shape or ()
    swapped = {one % len([*batch, 0, 0]) for one in turned.args[1:]} or {len(batch), len(batch) + 1}
    if (*others, last) != (*batch, steps) or swapped != {len(batch), len(batch) + 1}:
        return []
    shapes = {one.name: one.shape for one in (*graph.leaves, *graph.nodes)}
    (queries,), (values,) = (references(one) for one in (scores.args[:1], node.args[1:2]))
    if (shapes[queries], shapes[values]) != ((*batch, steps, depth), (*batch, steps, width)):
        return []  # one of them is shared among batches
    each, column, row, outer, sums, query, mixed = (*batch, steps), *(
        {"node": f"{node.name}_{one}"} for one in ("column", "row", "outer", "sums", "query", "mixed")
    )  # fmt: skip
    made: list[tuple[dict[str, str], str, tuple[Any, ...], tuple[int, ...]]] = [
        (column, "aten.unsqueeze.default", (turned.args[0], -1), (*each, depth, 1)),
        (row, "aten.unsqueeze.default", (node.args[1], -2), (*each, 1, width)),
        (outer, "aten.mul.Tensor", (column, row), (*each, depth, width)),
        (sums, "aten.cumsum.default", (outer, len(batch)), (*each, depth, width)),
        (query, "aten.unsqueeze.default", (scores.args[0], -2), (*each, 1, depth)),
        (mixed, "aten.matmul.default", (query, sums), (*each, 1, width)),
        ({"node": node.name}, "aten.squeeze.dim", (mixed, -2), (*each, width)),
    ]
    return [_node(name["node"], op, args, shape, node) for name, op, args, shape in made]


def _replaced(graph: Graph, node: Node, others: list[Node]) -> Graph:
    return replace(graph, nodes=tuple(new for one in graph.nodes for new in (others if one is node else [one])))


def _node(name: str, op: str, args: tuple[Any, ...], shape: tuple[int, ...], like: Node) -> Node:
    return Node(name, op, args, {}, shape, like.dtype)
