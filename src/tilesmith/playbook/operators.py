"""Which operators of a graph a kernel needs, what they are called, and which nobody here knows."""

from __future__ import annotations

from tilesmith.playbook.composites import COMPOSITES
from tilesmith.playbook.pointwise import POINTWISE
from tilesmith.playbook.symbols import Unmatched
from tilesmith.tasks.graph import GETITEM, Graph, Node, reference, references

ALIASES = {
    "alias", "clone", "contiguous", "detach", "dropout", "expand", "expand_as", "broadcast_to", "lift_fresh_copy",
    "to", "_to_copy", "type_as", "feature_dropout", "alpha_dropout",
}  # fmt: skip
"""Operators that give the values they are given; broadcasting does by itself what `expand` asks for."""
VIEWS = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as", "_unsafe_view"}
SYNONYMS = {
    "multiply": "mul", "divide": "div", "subtract": "sub", "negative": "neg", "absolute": "abs", "fix": "trunc",
    "clip": "clamp", "arctan": "atan", "arcsin": "asin", "arccos": "acos", "greater": "gt", "less": "lt",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
}  # fmt: skip
EXTREMES = {"max": "maximum", "min": "minimum"}
"""With two tensors these compare; with one they reduce."""
RANDOM = {"dropout", "feature_dropout", "alpha_dropout"}
RESERVED = {
    "row", "rows", "cols", "offs", "mask", "mask_m", "mask_n", "start", "numel", "M", "N", "BLOCK", "BLOCK_N",
    "ROWS", "NUM_WARPS", "torch", "triton", "tl", "nn", "libdevice", "self", "larger", "smaller", "product",
    "range", "float", "max", "min", "sum",
}  # fmt: skip
_MOST_NAMED = 6


def packet(node: Node) -> str:
    """`aten.add_.Tensor` is `add`; the maximum of two tensors is `maximum`."""
    parts = node.op.split(".")
    if len(parts) < 2 or parts[0] != "aten":
        return node.op
    name = parts[1].removesuffix("_") if is_inplace(node) else parts[1]
    return EXTREMES.get(name, name) if parts[-1] == "other" else name


def is_inplace(node: Node) -> bool:
    parts = node.op.split(".")
    return len(parts) > 1 and parts[1].endswith("_") and not parts[1].endswith("__")


def is_known(node: Node) -> bool:
    known = packet(node)
    if known in RANDOM and len(node.args) > 2 and node.args[1] and node.args[2]:
        return False
    tables = (ALIASES, VIEWS, SYNONYMS, COMPOSITES, POINTWISE)
    return node.op == GETITEM or any(known in table for table in tables)


def needed(graph: Graph) -> list[Node]:
    """The nodes that the outputs depend on, in order."""
    wanted = set(references(graph.outputs))
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        target = reference(node.args[0]) if is_inplace(node) and node.args else None
        if node.name in wanted or target in wanted:
            kept.append(node)
            wanted |= set(references([node.args, node.kwargs]))
        elif is_inplace(node):
            raise Unmatched("writes into a tensor that it does not return")
    return kept[::-1]


def refuse_unknown(graph: Graph) -> None:
    """Says in one line which operators stand in the way."""
    leaves = {leaf.name for leaf in graph.leaves}
    views = {node.name for node in graph.nodes if packet(node) in VIEWS | {"expand", "alias", "detach"}}
    nodes = needed(graph)
    unknown = list(dict.fromkeys(node.op for node in nodes if not is_known(node)))
    if unknown:
        more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
        raise Unmatched(f"uses {', '.join(unknown[:_MOST_NAMED])}{more}, which no recipe knows")
    for node in nodes:
        if is_inplace(node) and reference(node.args[0]) in leaves | views:
            raise Unmatched(f"writes into a tensor that others may see ({node.op})")
