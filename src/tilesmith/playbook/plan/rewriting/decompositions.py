"""Operators that are several: losses, norms and pools, written out in operators that recipes know.

A loss is what it is for each element or row, and then a mean or a sum over all of them. Written out, its parts join
the regions around them. What is written out here is what PyTorch computes, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

from tilesmith.playbook.graph.operators import POINTWISE, operator_name
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.plan.effects import substitute
from tilesmith.playbook.plan.rewriting.contractions import einsum, tensordot
from tilesmith.playbook.plan.rewriting.losses import LOSSES
from tilesmith.playbook.plan.rewriting.other_forms import OTHER_FORMS, SEVERAL
from tilesmith.playbook.plan.rewriting.pools import POOLS
from tilesmith.playbook.plan.rewriting.writer import MEAN, Value, Writer
from tilesmith.tasks.graph import GETITEM, Graph, Input, Node, Parameter, reference, references

_LARGE = 1 << 20
"""Elements from which on a batch norm in training mode is worth more than the launches that keep its statistics."""


def _instance_norm(writer: Writer) -> bool:
    """A layer norm over all but the first two dimensions, unless statistics are kept."""
    x, weight, bias, mean, variance, own, _, epsilon = (writer.operand(position) for position in range(8))
    if not own or mean is not None or variance is not None:
        return False
    channel = (x.shape[1], *(1 for _ in x.shape[2:]))
    value = writer.add("layer_norm.default", (x, list(x.shape[2:]), None, None, epsilon), x.shape, x.dtype)
    _scale(value, weight, bias, channel)
    return True


def _scale(value: Value, weight: Value | None, bias: Value | None, channel: tuple[int, ...]) -> Value:
    for op, one in (("mul.Tensor", weight), ("add.Tensor", bias)):
        if one is not None:
            value = value.apply(op, one.viewed(channel))
    return value


def _group_norm(writer: Writer) -> bool:
    """A layer norm over rows of some channels each."""
    x, groups, weight, bias = (writer.operand(position) for position in range(4))
    epsilon = writer.operand(4, "eps", 1e-5)
    parted = (groups, x.shape[1] // groups)
    rows = x.viewed((x.shape[0], *parted, *x.shape[2:]))
    value = writer.add("layer_norm.default", (rows, list(rows.shape[2:]), None, None, epsilon), rows.shape, x.dtype)
    _scale(value, weight, bias, (*parted, *(1 for _ in x.shape[2:]))).viewed(x.shape)
    return True


def _batch_norm(writer: Writer) -> bool:
    """In training mode: by the statistics of the batch, of which the running ones take their share."""
    x, weight, bias, mean, variance, training, momentum, epsilon = (writer.operand(i) for i in range(8))
    if not training or prod(x.shape) < _LARGE or x.dtype != "float32" or type(momentum) is not float:
        return False
    dims = [i for i in range(len(x.shape)) if i != 1]
    center = x.mean(dims)
    centered = x - center
    squared = centered.apply("square.default")
    spread = squared.mean(dims)
    if mean is not None:
        writer.move_towards(mean, center.viewed(mean.shape), momentum)
        squares, count = (
            writer.add("sum.dim_IntList", (one, dims), variance.shape, x.dtype)
            for one in (squared, squared.apply("ones_like.default"))
        )
        writer.move_towards(variance, squares / (count - 1), momentum)
    value = centered * (spread + epsilon).apply("rsqrt.default")
    _scale(value, weight, bias, (x.shape[1], *(1 for _ in x.shape[2:])))
    return True


def _cross_entropy(writer: Writer) -> bool:
    """(x, targets, weight, reduction, ignored, smoothing)"""
    x, target, weight = (writer.operand(position) for position in range(3))
    reduction, ignored = writer.operand(3, "reduction", MEAN), writer.operand(4, "ignore_index", -100)
    smoothing = writer.operand(5, "label_smoothing", 0.0)
    if weight is not None or len(x.shape) < 2:
        return False
    if target.shape == x.shape:
        if smoothing:
            return False
        logarithms = writer.add("log_softmax.int", (x, 1), x.shape, x.dtype)
        loss = (logarithms * target).over("sum.dim_IntList", 1).apply("neg.default")
        writer.reduced(loss, reduction)
        return True
    size = x.over("logsumexp.default", 1)
    size = size + (size - size)  # NaN where it is infinite: such a row has no probabilities
    loss = size - _picked(x, target)
    if smoothing:
        loss = loss * (1 - smoothing) + (size - x.over("mean.dim", 1)) * smoothing
    return _reduced_over_targets(writer, loss, target, (reduction, ignored))


def _nll(writer: Writer) -> bool:
    """(x, targets, weight, reduction, ignored)"""
    x, target, weight = (writer.operand(position) for position in range(3))
    reduction, ignored = writer.operand(3, "reduction", MEAN), writer.operand(4, "ignore_index", -100)
    if weight is not None or len(x.shape) < 2:
        return False
    return _reduced_over_targets(writer, _picked(x, target).apply("neg.default"), target, (reduction, ignored))


def _picked(x: Value, target: Value) -> Value:
    """The elements that the targets name along dimension 1; any other in place of one that does not count."""
    places = target.apply("clamp_min.default", 0)
    shape = (target.shape[0], 1, *target.shape[1:])
    places = x.writer.add("unsqueeze.default", (places, 1), shape, target.dtype)
    found = x.writer.add("gather.default", (x, 1, places), shape, x.dtype)
    return x.writer.add("squeeze.dim", (found, 1), target.shape, x.dtype)


def _reduced_over_targets(writer: Writer, loss: Value, target: Value, how: tuple[int, int]) -> bool:
    """Without those that are ignored."""
    reduction, ignored = how
    loss = target.compared("ne", ignored).where(loss, 0.0)
    if reduction != 0:
        total = writer.add("sum.default", (loss,), (), loss.dtype)
        if reduction == MEAN:
            counted = target.compared("ne", ignored)
            total.apply("div.Tensor", writer.add("sum.default", (counted,), (), "int64"))
    return True


_OTHERS: dict[str, Callable[[Writer], bool]] = {
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "batch_norm": _batch_norm,
    "cross_entropy_loss": _cross_entropy,
    "nll_loss_nd": _nll,
    **POOLS,
    **OTHER_FORMS,
    "einsum": einsum,
    "tensordot": tensordot,
}
"""What writes an operator out, and says whether it could."""
_BY_ROW = ("softmax", "_softmax", "log_softmax", "_log_softmax", "layer_norm", "rms_norm")


def _reduced_by_row(node: Node, known: Mapping[str, Input | Parameter | Node]) -> list[Node] | None:
    """The sum or mean of everything as that of rows and then of those, where rows are at hand anyway."""
    kind, source = operator_name(node), known.get(reference(node.args[0]) or "")
    if kind not in ("sum", "mean") or not node.op.endswith(".default") or node.kwargs:
        return None
    if not isinstance(source, Node) or source.dtype != node.dtype or not _comes_from_rows(source, known):
        return None
    writer = Writer(node, known)
    rows = writer.operand(0).over("sum.dim_IntList" if kind == "sum" else "mean.dim", -1)
    writer.add(f"{kind}.default", (rows,), (), rows.dtype)
    return writer.finished()


def _comes_from_rows(source: Node, known: Mapping[str, Input | Parameter | Node]) -> bool:
    """Whether pointwise operators alone lie between a value and an operator over the last dimension."""
    waiting, seen = [source], set[str]()
    while waiting:
        node = waiting.pop()
        if operator_name(node) in _BY_ROW and len(node.shape or ()) > 1:
            return node.shape == source.shape
        if operator_name(node) in POINTWISE and node.name not in seen:
            operands = (known.get(name) for name in references([node.args, node.kwargs]))
            waiting += [one for one in operands if isinstance(one, Node)]
        seen.add(node.name)
    return False


def decompose(graph: Graph) -> Graph:
    """The graph with losses written out, and without `broadcast_tensors`."""
    known: dict[str, Input | Parameter | Node] = {one.name: one for one in (*graph.leaves, *graph.nodes)}
    nodes: list[Node] = []
    renamed: dict[str, str] = {}
    writes = dict(graph.writes)
    several: dict[str, tuple[str, ...]] = {}
    for node in graph.nodes:
        if node.op == GETITEM and (made := several.get(reference(node.args[0]) or "")):
            renamed[node.name] = made[node.args[1]]
            continue
        source = known.get(reference(node.args[0]) or "") if node.op == GETITEM else None
        if operator_name(node) == "broadcast_tensors":
            continue
        if isinstance(source, Node) and operator_name(source) == "broadcast_tensors":
            given = str(reference(source.args[0][node.args[1]]))
            given = renamed.get(given, given)
            if known[given].shape == node.shape:
                renamed[node.name] = given
            else:
                nodes.append(
                    replace(node, op="aten.expand.default", args=({"node": given}, list(node.shape or ())))
                )
            continue
        plain = replace(node, args=substitute(node.args, renamed), kwargs=substitute(node.kwargs, renamed))
        if (parts := _in_parts(plain, graph, known)) is not None:
            several[node.name] = tuple(one.name for one in parts)
            nodes += parts[0].writer.nodes
            known |= {one.name: one for one in parts[0].writer.nodes}
            continue
        writer = _bags(plain, source, known) or _written_out(plain, known)
        written = writer.finished() if writer else [plain]
        if writer:
            writes.pop(node.name, None)
            writes |= writer.writes
        known |= {one.name: one for one in written}
        split = _reduced_by_row(written[-1], known)
        nodes += [*written[:-1], *split] if split else written
    outputs = substitute(graph.outputs, renamed)
    needed = set(references([outputs, [[node.args, node.kwargs] for node in nodes]]))
    assert needed <= {one.name for one in (*graph.leaves, *nodes)}
    return replace(graph, nodes=tuple(nodes), outputs=outputs, writes=writes)


def _in_parts(node: Node, graph: Graph, known: Mapping[str, Input | Parameter | Node]) -> tuple[Value, ...] | None:
    """The results of an operator that gives several, written out; None where they are not."""
    write = SEVERAL.get(operator_name(node))
    if write is None:
        return None
    taken = {one.args[1]: one for one in graph.nodes if one.op == GETITEM and reference(one.args[0]) == node.name}
    if taken.keys() != {0, 1}:
        return None
    results = (taken[0], taken[1])
    made = write(Writer(node, known, results))
    same = made is not None and [(one.shape, one.dtype) for one in made] == [(r.shape, r.dtype) for r in results]
    return made if same else None


def _bags(
    node: Node, source: Input | Parameter | Node | None, known: Mapping[str, Input | Parameter | Node]
) -> Writer | None:
    """The sums or means of bags of embeddings that are all of one size, as reductions of the embeddings."""
    if not isinstance(source, Node) or operator_name(source) != "embedding_bag" or node.args[1] != 0:
        return None
    begins, mode = known.get(reference(source.args[2]) or ""), source.args[4]
    unusual = [one for one in source.args[6:9] if one is not None and one is not False]
    if mode not in (0, 1) or unusual or not isinstance(begins, Node) or operator_name(begins) != "arange":
        return None
    bags = Writer(replace(node, args=source.args[:2]), known)
    table, held = bags.operand(0), bags.operand(1)
    first, last, size = begins.args if len(begins.args) == 3 else (1, 0, 1)
    if first != 0 or (last,) != held.shape or last % size:
        return None
    shape = (last // size, size)
    rows = bags.add("embedding.default", (table, held.viewed(shape)), (*shape, table.shape[1]), table.dtype)
    rows.over(("sum.dim_IntList", "mean.dim")[mode], 1)
    return bags


def _written_out(node: Node, known: Mapping[str, Input | Parameter | Node]) -> Writer | None:
    writer = Writer(node, known)
    if other := _OTHERS.get(operator_name(node)):
        return writer if other(writer) and writer.gives_the_same() else None
    loss = LOSSES.get(operator_name(node))
    if loss is None or node.kwargs.get("keepdim"):
        return None
    given = {position: writer.operand(position, name, _MISSING) for position, name in loss.arguments}
    operands = [given[position] for position, _ in loss.arguments]
    while operands and operands[-1] is _MISSING:
        operands.pop()
    if any(one is _MISSING for one in operands):
        operands = [None if one is _MISSING else one for one in operands]
    value = loss.write(*operands)
    if value is None:
        return None
    if loss.reduction is not None:
        writer.reduced(value, find_argument(node, loss.reduction, "reduction", MEAN))
    return writer if writer.gives_the_same() else None


_MISSING = object()
