"""Operators that are several: losses, norms and pools, written out in operators that recipes know.

A loss is what it is for each element or row, and then a mean or a sum over all of them. Written out, its parts join
the regions around them. What is written out here is what PyTorch computes, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilesmith.playbook.graph.operators import POINTWISE, operator_name
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.plan.effects import substitute
from tilesmith.tasks.graph import GETITEM, Graph, Input, Node, Parameter, reference, references

_MEAN, _SUM = 1, 2
"""How PyTorch counts the reductions of losses; 0 is none."""
_SPREAD_EPSILON = 1e-12


@dataclass(frozen=True)
class _Value:
    """A value of the graph that more can be computed from."""

    writer: _Writer
    name: str
    shape: tuple[int, ...]
    dtype: str

    def __add__(self, other: Any) -> _Value:
        return self.apply("add.Tensor", other)

    def __sub__(self, other: Any) -> _Value:
        return self.apply("sub.Tensor", other)

    def __rsub__(self, other: Any) -> _Value:
        return self.apply("rsub.Scalar", other)

    def __mul__(self, other: Any) -> _Value:
        return self.apply("mul.Tensor", other)

    def __truediv__(self, other: Any) -> _Value:
        return self.apply("div.Tensor", other)

    def compared(self, how: str, other: float) -> _Value:
        """`lt`, `eq` and the like with a number."""
        return self.apply(f"{how}.Scalar", other, dtype="bool")

    def where(self, one: _Value, other: Any) -> _Value:
        return one.apply("where.self", other, first=self)

    def over(self, op: str, dim: int, *before: Any) -> _Value:
        """A reduction over one dimension."""
        dim %= len(self.shape)
        shape = self.shape[:dim] + self.shape[dim + 1 :]
        return self.writer.add(op, (self, *before, [dim]), shape, self.dtype)

    def viewed(self, shape: tuple[int, ...]) -> _Value:
        return self.writer.add("view.default", (self, list(shape)), shape, self.dtype)

    def apply(self, op: str, *others: Any, dtype: str = "", first: _Value | None = None) -> _Value:
        """A pointwise operator."""
        operands = (*((first,) if first else ()), self, *others)
        shapes = [one.shape for one in operands if isinstance(one, _Value)]
        return self.writer.add(op, operands, _broadcast(shapes), dtype or self.dtype)


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))


class _Writer:
    """Writes nodes in place of one; the last of them has its name."""

    def __init__(self, node: Node, known: Mapping[str, Input | Parameter | Node]) -> None:
        self.node, self._known = node, known
        self.nodes: list[Node] = []

    def operand(self, position: int, name: str = "", default: Any = None) -> Any:
        value = find_argument(self.node, position, name, default)
        found = self._known.get(reference(value) or "")
        if found is None or found.shape is None or found.dtype is None:
            return float(value["float"]) if isinstance(value, Mapping) and "float" in value else value
        return _Value(self, found.name, found.shape, found.dtype)

    def add(self, op: str, operands: tuple[Any, ...], shape: tuple[int, ...], dtype: str) -> _Value:
        name = f"{self.node.name}_{op.partition('.')[0]}"
        taken = {node.name for node in self.nodes} | self._known.keys()
        name = next(one for one in (name, *(f"{name}_{i}" for i in range(1, 99))) if one not in taken)
        args = tuple({"node": one.name} if isinstance(one, _Value) else one for one in operands)
        self.nodes.append(Node(name, f"aten.{op}", args, {}, shape, dtype))
        return _Value(self, name, shape, dtype)

    def reduced(self, value: _Value, reduction: Any) -> None:
        if reduction in (_MEAN, _SUM):
            self.add("mean.default" if reduction == _MEAN else "sum.default", (value,), (), value.dtype)

    def finished(self) -> list[Node]:
        return [*self.nodes[:-1], replace(self.nodes[-1], name=self.node.name)]


def _mse(x: _Value, t: _Value) -> _Value:
    return (x - t).apply("square.default")


def _l1(x: _Value, t: _Value) -> _Value:
    return (x - t).apply("abs.default")


def _smooth_l1(x: _Value, t: _Value, beta: float = 1.0) -> _Value:
    size = _l1(x, t)
    if beta == 0:
        return size
    return size.compared("lt", beta).where(size * size * 0.5 / beta, size - 0.5 * beta)


def _huber(x: _Value, t: _Value, delta: float = 1.0) -> _Value:
    size = _l1(x, t)
    return size.compared("le", delta).where(size * size * 0.5, (size - 0.5 * delta) * delta)


def _kl_div(x: _Value, t: _Value, log_target: bool = False) -> _Value:
    if log_target:
        return t.apply("exp.default") * (t - x)
    entropy = t.compared("eq", 0).where(t * 0.0, t * t.apply("log.default"))
    return entropy - t * x


def _binary_cross_entropy(x: _Value, t: _Value, weight: _Value | None = None) -> _Value:
    missed = x.apply("neg.default").apply("log1p.default").apply("clamp_min.default", -100.0)
    loss = (t - 1) * missed - t * x.apply("log.default").apply("clamp_min.default", -100.0)
    return loss if weight is None else loss * weight


def _with_logits(x: _Value, t: _Value, weight: _Value | None = None, positive: _Value | None = None) -> _Value:
    logarithm = x.apply("log_sigmoid.default")
    if positive is not None:
        logarithm = logarithm * ((positive - 1) * t + 1)
    loss = (1 - t) * x - logarithm
    return loss if weight is None else loss * weight


def _soft_margin(x: _Value, t: _Value) -> _Value:
    return (x * t).apply("neg.default").apply("exp.default").apply("log1p.default")


def _hinge_embedding(x: _Value, t: _Value, margin: float = 1.0) -> _Value:
    apart = t.compared("ne", 1).where((margin - x).apply("clamp_min.default", 0), 0.0)
    return apart + t.compared("ne", -1).where(x, 0.0)


def _margin_ranking(a: _Value, b: _Value, t: _Value, margin: float = 0.0) -> _Value:
    return ((b - a) * t + margin).apply("clamp_min.default", 0)


def _poisson(x: _Value, t: _Value, log_input: bool, full: bool, epsilon: float) -> _Value | None:
    if full:
        return None
    if log_input:
        return x.apply("exp.default") - t * x
    return x - t * (x + epsilon).apply("log.default")


def _pairwise_distance(a: _Value, b: _Value, order: float = 2.0, epsilon: float = 1e-6) -> _Value:
    return (a - b + epsilon).over("linalg_vector_norm.default", -1, order)


def _triplet(
    a: _Value,
    p: _Value,
    n: _Value,
    margin: float = 1.0,
    order: float = 2.0,
    epsilon: float = 1e-6,
    swap: bool = False,
) -> _Value:
    near, far = _pairwise_distance(a, p, order, epsilon), _pairwise_distance(a, n, order, epsilon)
    if swap:
        far = far.apply("minimum.default", _pairwise_distance(p, n, order, epsilon))
    return (near - far + margin).apply("clamp_min.default", 0)


def _cosine_similarity(a: _Value, b: _Value, dim: int = 1, epsilon: float = 1e-8) -> _Value:
    both = (a * b).over("sum.dim_IntList", dim)
    sizes = [one.over("linalg_vector_norm.default", dim, 2).apply("clamp_min.default", epsilon) for one in (a, b)]
    return both / (sizes[0] * sizes[1])


def _cosine_embedding(a: _Value, b: _Value, t: _Value, margin: float = 0.0) -> _Value:
    both = (a * b).over("sum.dim_IntList", -1)
    sizes = [(one * one).over("sum.dim_IntList", -1) + _SPREAD_EPSILON for one in (a, b)]
    cosine = both / (sizes[0] * sizes[1]).apply("sqrt.default")
    apart = t.compared("eq", -1).where((cosine - margin).apply("clamp_min.default", 0), 0.0)
    return t.compared("eq", 1).where(1 - cosine, apart)


@dataclass(frozen=True)
class _Loss:
    """What a loss is before it is reduced, and which of its arguments that takes."""

    write: Callable[..., _Value | None]
    arguments: tuple[tuple[int, str], ...]
    """Where they stand, and their names."""
    reduction: int | None
    """Where the reduction stands; None for an operator without."""


_TWO = ((0, "self"), (1, "target"))
_PAIR = ((0, "x1"), (1, "x2"))
_LOSSES = {
    "mse_loss": _Loss(_mse, _TWO, 2),
    "l1_loss": _Loss(_l1, _TWO, 2),
    "smooth_l1_loss": _Loss(_smooth_l1, (*_TWO, (3, "beta")), 2),
    "huber_loss": _Loss(_huber, (*_TWO, (3, "delta")), 2),
    "kl_div": _Loss(_kl_div, (*_TWO, (3, "log_target")), 2),
    "binary_cross_entropy": _Loss(_binary_cross_entropy, (*_TWO, (2, "weight")), 3),
    "binary_cross_entropy_with_logits": _Loss(_with_logits, (*_TWO, (2, "weight"), (3, "pos_weight")), 4),
    "soft_margin_loss": _Loss(_soft_margin, _TWO, 2),
    "hinge_embedding_loss": _Loss(_hinge_embedding, (*_TWO, (2, "margin")), 3),
    "margin_ranking_loss": _Loss(_margin_ranking, (*_PAIR, (2, "target"), (3, "margin")), 4),
    "poisson_nll_loss": _Loss(_poisson, (*_TWO, (2, "log_input"), (3, "full"), (4, "eps")), 5),
    "pairwise_distance": _Loss(_pairwise_distance, (*_PAIR, (2, "p"), (3, "eps")), None),
    "triplet_margin_loss": _Loss(
        _triplet, (*_TWO, (2, "negative"), (3, "margin"), (4, "p"), (5, "eps"), (6, "swap")), 7
    ),
    "cosine_similarity": _Loss(_cosine_similarity, (*_PAIR, (2, "dim"), (3, "eps")), None),
    "cosine_embedding_loss": _Loss(_cosine_embedding, (*_PAIR, (2, "target"), (3, "margin")), 4),
}


def _instance_norm(writer: _Writer) -> bool:
    """A layer norm over all but the first two dimensions, unless statistics are kept."""
    x, weight, bias, mean, variance, own, _, epsilon = (writer.operand(position) for position in range(8))
    if not own or mean is not None or variance is not None:
        return False
    channel = (x.shape[1], *(1 for _ in x.shape[2:]))
    value = writer.add("layer_norm.default", (x, list(x.shape[2:]), None, None, epsilon), x.shape, x.dtype)
    for op, one in (("mul.Tensor", weight), ("add.Tensor", bias)):
        if one is not None:
            value = value.apply(op, one.viewed(channel))
    return True


def _pool_to_one(op: str, dims: int) -> Callable[[_Writer], bool]:
    """An adaptive pool whose results are single numbers reduces all of those dimensions."""

    def write(writer: _Writer) -> bool:
        x, sizes = writer.operand(0), writer.operand(1)
        if any(size != 1 for size in sizes):
            return False
        lead = len(x.shape) - dims
        over = list(range(lead, len(x.shape)))
        writer.add(op, (x, over, True), x.shape[:lead] + (1,) * dims, x.dtype)
        return True

    return write


_OTHERS: dict[str, Callable[[_Writer], bool]] = {
    "instance_norm": _instance_norm,
    **{f"adaptive_avg_pool{dims}d": _pool_to_one("mean.dim", dims) for dims in (1, 2, 3)},
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
    writer = _Writer(node, known)
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
    for node in graph.nodes:
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
        written = _bags(plain, source, known) or _written_out(plain, known) or [plain]
        known |= {one.name: one for one in written}
        split = _reduced_by_row(written[-1], known)
        nodes += [*written[:-1], *split] if split else written
    outputs = substitute(graph.outputs, renamed)
    needed = set(references([outputs, [[node.args, node.kwargs] for node in nodes]]))
    assert needed <= {one.name for one in (*graph.leaves, *nodes)}
    return replace(graph, nodes=tuple(nodes), outputs=outputs)


def _bags(
    node: Node, source: Input | Parameter | Node | None, known: Mapping[str, Input | Parameter | Node]
) -> list[Node] | None:
    """The sums or means of bags of embeddings that are all of one size, as reductions of the embeddings."""
    if not isinstance(source, Node) or operator_name(source) != "embedding_bag" or node.args[1] != 0:
        return None
    begins, mode = known.get(reference(source.args[2]) or ""), source.args[4]
    unusual = [one for one in source.args[6:9] if one is not None and one is not False]
    if mode not in (0, 1) or unusual or not isinstance(begins, Node) or operator_name(begins) != "arange":
        return None
    bags = _Writer(replace(node, args=source.args[:2]), known)
    table, held = bags.operand(0), bags.operand(1)
    first, last, size = begins.args if len(begins.args) == 3 else (1, 0, 1)
    if first != 0 or (last,) != held.shape or last % size:
        return None
    shape = (last // size, size)
    rows = bags.add("embedding.default", (table, held.viewed(shape)), (*shape, table.shape[1]), table.dtype)
    rows.over(("sum.dim_IntList", "mean.dim")[mode], 1)
    return bags.finished()


def _written_out(node: Node, known: Mapping[str, Input | Parameter | Node]) -> list[Node] | None:
    writer = _Writer(node, known)
    if other := _OTHERS.get(operator_name(node)):
        return writer.finished() if other(writer) else None
    loss = _LOSSES.get(operator_name(node))
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
        writer.reduced(value, find_argument(node, loss.reduction, "reduction", _MEAN))
    written = writer.finished()
    return written if written[-1].shape == node.shape else None


_MISSING = object()
