"""What a forward pass does beside computing its results: it writes into tensors and draws random numbers.

In-place operators on values of the pass itself become plain ones; all others keep their place between whoever uses
the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tilesmith.playbook.graph.operators import (
    ALIASES,
    COPIES,
    MOVED_VIEWS,
    POINTWISE,
    PRODUCTS,
    VIEWS,
    is_inplace,
    is_known,
    operator_name,
)
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import GETITEM, Graph, Node, reference, references

_MORE_VIEWS = {
    "as_strided", "unfold", "view_as_real", "view_as_complex", "tensor_split", "squeeze_", "adjoint", "real",
    "imag",
}  # fmt: skip
"""Operators beside those of recipes whose results share memory with their first operand."""
_RANDOM = {
    "rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "bernoulli", "multinomial",
    "normal", "poisson", "native_dropout", "rrelu_with_noise", "rrelu", "geometric",
    "log_normal", "exponential", "uniform", "random", "cauchy",
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
    """The graph with in-place operators made plain where nobody can tell, without what nobody needs.

    Raises where somebody could: what is written must be a buffer that nobody else looks at.
    """
    graph = _made_plain(graph)
    writing = {node.name for node in graph.nodes if _written(node)}
    _refuse_shared_writes(graph, writing)
    random = [node.name for node in graph.nodes if is_random(node)]
    graph = _needed(graph, writing)
    before = {node.name: set(references([node.args, node.kwargs])) for node in graph.nodes}
    _keep_order(before, [name for name in random if name in before])
    _keep_order(before, [node.name for node in graph.nodes if node.name in writing])
    names = {node.name for node in graph.nodes}
    kept = {name: frozenset(earlier & names) for name, earlier in before.items()}
    return OrderedGraph(graph, kept, frozenset((writing | set(random)) & names))


def _written(node: Node) -> list[str]:
    """The values that an operator writes to."""
    kind = operator_name(node)
    if kind in ("batch_norm", "instance_norm"):
        return list(references(list(node.args[3:5]))) if node.args[5] else []
    if is_inplace(node) or kind.startswith("_foreach_") or node.op.endswith((".out", "_out")):
        return list(references([node.args, node.kwargs]))[:1] or [node.name]
    return []


def _refuse_shared_writes(graph: Graph, writing: set[str]) -> None:
    buffers = {one.name for one in graph.parameters}
    for node in graph.nodes:
        for target in _written(node):
            users = [one for one in graph.nodes if target in references([one.args, one.kwargs]) and one is not node]
            if target not in buffers or not {one.name for one in users} <= writing:
                raise Unmatched(f"writes into a tensor that others may see ({node.op})")
            if target in references(graph.outputs):
                raise Unmatched(f"returns a tensor that it writes into ({node.op})")


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
    return node.op == GETITEM or aliases or kind in VIEWS | MOVED_VIEWS | _MORE_VIEWS or is_inplace(node)


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
            readers = [
                one
                for one in graph.nodes[:position]
                if one.name == target or {target, *sharing} & set(references([one.args]))
            ]
            is_plain = operator_name(node) in POINTWISE and all(map(_is_fresh_or_known, readers))
            if is_plain and not sharing & later and others <= {node.dtype, "bool"}:
                plain = replace(with_names(node, renamed), op=_plain_name(node.op))
                nodes.append(plain)
                renamed = {old: node.name if new == target else new for old, new in renamed.items()}
                renamed[target] = node.name
                continue
        nodes.append(with_names(node, renamed))
    return replace(graph, nodes=tuple(nodes), outputs=substitute(graph.outputs, renamed))


def _is_fresh_or_known(node: Node) -> bool:
    """Whether it is known of an operator if its result shares memory with its operand."""
    kind = operator_name(node)
    return (
        shares_memory(node)
        or is_known(node)
        or kind in PRODUCTS
        or kind.startswith(("conv", "max_pool", "avg_pool"))
    )


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
