"""What a forward pass does beside computing its results: it writes into tensors and draws random numbers.

In-place operators on values of the pass itself become plain ones; all others keep their place between whoever uses
the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilesmith.playbook.graph.operators import ALIASES, COPIES, VIEWS, is_inplace, operator_name
from tilesmith.tasks.graph import GETITEM, Graph, Node, reference, references

_MORE_VIEWS = {
    "transpose", "permute", "t", "select", "slice", "narrow", "unbind", "split", "split_with_sizes", "chunk",
    "diagonal", "as_strided", "unfold", "movedim", "swapaxes", "swapdims", "view_as_real", "view_as_complex",
    "tensor_split", "mT", "numpy_T", "squeeze_", "adjoint", "real", "imag",
}  # fmt: skip
"""Operators beside those of recipes whose results share memory with their first operand."""
_RANDOM = {
    "rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "bernoulli", "multinomial",
    "normal", "poisson", "native_dropout", "rrelu_with_noise", "exponential", "uniform", "random", "cauchy",
}  # fmt: skip
_RANDOM_IN_TRAINING = {"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"}


@dataclass(frozen=True)
class OrderedGraph:
    """A graph whose nodes may be moved as long as `before` is kept."""

    graph: Graph
    before: dict[str, frozenset[str]]
    """For each node those that must come earlier: its operands, and whatever its effects ask for."""
    effects: frozenset[str]
    """Nodes that do more than give a result: PyTorch runs them."""


def order(graph: Graph) -> OrderedGraph:
    """The graph with in-place operators made plain where nobody can tell, without what nobody needs."""
    graph = _made_plain(graph)
    writing = {node.name for node in graph.nodes if is_inplace(node)}
    random = [node.name for node in graph.nodes if is_random(node)]
    graph = _needed(graph, writing)
    before = {node.name: set(references([node.args, node.kwargs])) for node in graph.nodes}
    _keep_order(before, [name for name in random if name in before])
    owner = _owners(graph)
    for node in graph.nodes:
        if node.name in writing:
            _keep_around(before, graph, node, owner)
    names = {node.name for node in graph.nodes}
    kept = {name: frozenset(earlier & names) for name, earlier in before.items()}
    return OrderedGraph(graph, kept, frozenset((writing | set(random)) & names))


def is_random(node: Node) -> bool:
    kind = operator_name(node)
    if kind in _RANDOM_IN_TRAINING:
        return bool(len(node.args) > 2 and node.args[1] and node.args[2])
    if kind == "scaled_dot_product_attention":
        return bool(node.args[4] if len(node.args) > 4 else node.kwargs.get("dropout_p", 0.0))
    return kind in _RANDOM


def shares_memory(node: Node) -> bool:
    """Whether the result may be the first operand's memory under another name."""
    kind = operator_name(node)
    aliases = kind in ALIASES and kind not in COPIES
    return node.op == GETITEM or aliases or kind in VIEWS or kind in _MORE_VIEWS or is_inplace(node)


def _owners(graph: Graph) -> dict[str, str]:
    """For every value the one whose memory it may be in."""
    owner = {leaf.name: leaf.name for leaf in graph.leaves}
    for node in graph.nodes:
        source = reference(node.args[0]) if node.args else None
        owner[node.name] = owner[source] if source is not None and shares_memory(node) else node.name
    return owner


def _made_plain(graph: Graph) -> Graph:
    owner = _owners(graph)
    leaves = {leaf.name for leaf in graph.leaves}
    dtypes = {one.name: one.dtype for one in (*graph.leaves, *graph.nodes)}
    renamed: dict[str, str] = {}
    nodes: list[Node] = []
    for position, node in enumerate(graph.nodes):
        target = reference(node.args[0]) if is_inplace(node) and node.args else None
        if target is not None and owner[target] not in leaves:
            later = set(references([[one.args, one.kwargs] for one in graph.nodes[position + 1 :]]))
            later |= set(references(graph.outputs))
            known = {one.name for one in graph.nodes[:position]}
            sharing = {name for name in known if owner[name] == owner[target]} - {target}
            others = {dtypes[name] for name in references([node.args[1:], node.kwargs])}
            if not sharing & later and others <= {node.dtype, "bool"}:
                plain = replace(with_names(node, renamed), op=_plain_name(node.op))
                nodes.append(plain)
                renamed = {old: node.name if new == target else new for old, new in renamed.items()}
                renamed[target] = node.name
                continue
        nodes.append(with_names(node, renamed))
    return replace(graph, nodes=tuple(nodes), outputs=substitute(graph.outputs, renamed))


def _plain_name(op: str) -> str:
    first, name, *rest = op.split(".")
    return ".".join([first, name.removesuffix("_"), *rest])


def with_names(node: Node, renamed: dict[str, str]) -> Node:
    args = tuple(substitute(one, renamed) for one in node.args)
    return replace(node, args=args, kwargs={key: substitute(one, renamed) for key, one in node.kwargs.items()})


def substitute(value: Any, renamed: dict[str, str]) -> Any:
    """The same with other names for the nodes it refers to."""
    name = reference(value)
    if name is not None:
        return {"node": renamed.get(name, name)}
    if isinstance(value, dict):
        return {key: substitute(item, renamed) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(substitute(item, renamed) for item in value)
    return value


def _needed(graph: Graph, writing: set[str]) -> Graph:
    """Without nodes that neither a result nor an effect depends on."""
    wanted = set(references(graph.outputs)) | writing
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in wanted:
            kept.append(node)
            wanted |= set(references([node.args, node.kwargs]))
    return replace(graph, nodes=tuple(kept[::-1]))


def _keep_order(before: dict[str, set[str]], names: Iterable[str]) -> None:
    last: str | None = None
    for name in names:
        if last is not None:
            before[name].add(last)
        last = name


def _keep_around(before: dict[str, set[str]], graph: Graph, writer: Node, owner: dict[str, str]) -> None:
    """Whoever uses the memory that `writer` writes to keeps its side of it."""
    memory = owner[writer.name]
    is_earlier = True
    for node in graph.nodes:
        if node is writer:
            is_earlier = False
        elif any(owner[name] == memory for name in _touched(node)):
            if is_earlier:
                before[writer.name].add(node.name)
            else:
                before[node.name].add(writer.name)


def _touched(node: Node) -> Iterator[str]:
    yield node.name
    yield from references([node.args, node.kwargs])
