"""Attention among the steps: scores of queries and keys, made weights of values, and what those come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilesmith.playbook.graph.choices import make_index
from tilesmith.playbook.graph.composites import COMPOSITES, softmax_of
from tilesmith.playbook.graph.operators import ATTENTION, PRODUCTS, is_free, is_known, operator_name
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import CAST, KernelStep
from tilesmith.playbook.graph.sums.bands import Band, find_band
from tilesmith.playbook.graph.sums.factors import Product, find_factor, multiply
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Graph, Node, references

if TYPE_CHECKING:
    from tilesmith.playbook.graph.lowering import Lowering

INVERSE_ROOT = "inverse_root"
"""What a kernel calls the scale that PyTorch takes by itself, one over the root of the queries' width."""


@dataclass(frozen=True)
class Attention:
    scores: Product
    """Of queries and keys."""
    weights: KernelStep
    """What a softmax takes; the weights themselves where there is none."""
    mixed: Product
    """Of weights and values."""
    has_softmax: bool
    band: Band
    """Which keys a query sees at all."""
    empty_is_zero: bool
    """Whether a row without any key is zero, as PyTorch's own function has it; by a softmax it is NaN."""


def find_attention(low: Lowering) -> Attention:
    """The only one among the steps."""
    if len(low.products) != 2:
        raise Unmatched(f"has {len(low.products)} products, which are no attention")
    scores, mixed = low.products
    made = mixed.left.step
    while made.op == CAST:
        made = made.operands[0]
    if mixed.left.view or scores.step not in _below(made):
        raise Unmatched("has two products, of which none makes weights for the other")
    if any(one.is_computed for one in (scores.left, scores.right, mixed.right)):
        raise Unmatched("computes queries, keys or values itself")
    if len({one.dtype for one in (scores.left, scores.right, mixed.right)}) > 1:
        raise Unmatched("has queries, keys and values of several types")
    found = _before_softmax(made)
    weights, (*_, rows, keys) = made if found is None else found, map(low.symbols.canonical, scores.step.form.dims)
    band = find_band(weights, found is not None, rows == keys)
    return Attention(scores, weights, mixed, found is not None, band, low.safe_softmax)


def _before_softmax(step: KernelStep) -> KernelStep | None:
    """What a softmax over the last dimension takes."""
    if step.op != "div" or not all(isinstance(one, KernelStep) for one in step.operands):
        return None
    powers, total = step.operands
    if powers.op != "fast_exp" or total.op != "sum" or total.operands[0] is not powers:
        return None
    if total.options["axes"] != (powers.form.rank - 1,):
        return None
    found: KernelStep = powers.operands[0].operands[0]
    return found


def _below(step: KernelStep) -> set[KernelStep]:
    found: set[KernelStep] = set()
    waiting = [step]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [operand for operand in one.operands if isinstance(operand, KernelStep)]
    return found


def lower_attention(low: Lowering, node: Node) -> KernelStep:
    """(queries, keys, values, mask, dropout, is_causal), scale, enable_gqa"""
    queries, keys, values = (find_factor(low.operand(one)) for one in node.args[:3])
    mask, dropout, is_causal = (
        find_argument(node, i, name, default)
        for i, name, default in ((3, "attn_mask", None), (4, "dropout_p", 0.0), (5, "is_causal", False))
    )
    if dropout:
        raise Unmatched("drops weights of an attention at random")
    if node.kwargs.get("enable_gqa") and queries.form.shape[-3] != keys.form.shape[-3]:
        count = queries.form.shape[-3] // keys.form.shape[-3]
        keys, values = (one.with_repeats(low, count, node.name) for one in (keys, values))
    dtype, width = str(node.dtype), queries.form.shape[-1]
    step = multiply(low, queries, keys, "scores", dtype)
    scale = node.kwargs.get("scale")
    scale = NamedNumber(float(width) ** -0.5, INVERSE_ROOT, None) if scale is None else low.operand(scale)
    step = low.pointwise("mul", (step, scale), "scaled", dtype)
    if mask is not None:
        step = _masked(low, step, low.operand(mask))
    if is_causal:
        row, column = (make_index(low, step.form, step.form.rank - back, name) for back, name in _PLACES)
        kept = low.pointwise("le", (column, row), "kept", "bool")
        step = low.pointwise("where", (kept, step, float("-inf")), "causal", dtype)
    weights = softmax_of(low, step, -1, "weights", dtype)
    low.safe_softmax = True
    return multiply(low, find_factor(weights), values.turned, node.name, dtype)


_PLACES = ((2, "row_place"), (1, "column_place"))


def _masked(low: Lowering, step: KernelStep, mask: Any) -> KernelStep:
    if mask.dtype == "bool":
        return low.pointwise("where", (mask, step, float("-inf")), "masked", step.dtype)
    return low.pointwise("add", (step, mask), "biased", step.dtype)


def find_cores(graph: Graph) -> Iterator[set[str]]:
    """What each attention of a pass may be, largest first: all from the scores to what the weights make of values,
    with what masks and biases are made of and with a copy of the result in another order, or without."""
    nodes = {node.name: node for node in graph.nodes}
    users: dict[str, list[Node]] = {name: [] for name in nodes}
    for node in graph.nodes:
        for name in set(references([node.args, node.kwargs])) & nodes.keys():
            users[name].append(node)
    for node in graph.nodes:
        tail = _tail(node, users)
        for core, sides in _found_cores(node, nodes):
            for more in (sides | tail, sides, tail, set[str]()):
                yield core | more


def _found_cores(node: Node, nodes: dict[str, Node]) -> Iterator[tuple[set[str], set[str]]]:
    """Nodes from the scores to this one, if it is where an attention ends, and what else they are made of."""
    given = list(references([node.args, node.kwargs]))
    if operator_name(node) in ATTENTION:
        yield {node.name}, _producers(given[3:], nodes, _is_cheap)
    elif operator_name(node) in PRODUCTS and given[0] in nodes:
        producers = _producers(given[:1], nodes, _leads_to_scores)
        made = [one for one in nodes.values() if one.name in producers]
        for scores in made:
            if operator_name(scores) in PRODUCTS and scores.shape == nodes[given[0]].shape:
                core = {scores.name}
                for one in made:
                    core |= {one.name} if set(references([one.args, one.kwargs])) & core else set()
                sides = [name for one in core - {scores.name} for name in references(nodes[one].args)]
                yield core | {node.name}, _producers([one for one in sides if one not in core], nodes, _is_cheap)


def _tail(node: Node, users: dict[str, list[Node]]) -> set[str]:
    """Views of a result up to the last one that copies it, where nobody needs anything else."""
    found: list[Node] = []
    while len(users[node.name]) == 1 and is_free(users[node.name][0]):
        (node,) = users[node.name]
        found.append(node)
    while found and operator_name(found[-1]) not in ("contiguous", "clone", "reshape"):
        found.pop()
    return {one.name for one in found}


def _producers(names: Iterable[str], nodes: dict[str, Node], leads_on: Callable[[Node], bool]) -> set[str]:
    """Whatever makes these, as far back as nodes lead on."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in found and leads_on(nodes[name]):
            found.add(name)
            is_end = operator_name(nodes[name]) in PRODUCTS
            waiting += [] if is_end else references([nodes[name].args, nodes[name].kwargs])
    return found


def _leads_to_scores(node: Node) -> bool:
    return is_known(node) or operator_name(node) in PRODUCTS


def _is_cheap(node: Node) -> bool:
    """Whether a kernel may compute it for each tile."""
    return is_known(node) and operator_name(node) not in COMPOSITES
