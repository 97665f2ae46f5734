"""Rewrites of a graph that remove work: the same results, from fewer numbers. Each says what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tilesmith.playbook.graph.operators import ALIASES, PRODUCTS, VIEWS, is_known, is_view, operator_name
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.tasks.graph import GETITEM, Graph, Node, reference, references

_DIAGONALS = {"diag", "diag_embed"}
_SUMS = {"sum", "mean"}
_OF_ONE = {"sum", "mean", "amax", "amin", "prod", "logsumexp"}
"""Reductions that give the number itself where there is one only."""
_SOFTMAXES = {"softmax": "one", "log_softmax": "zero"}
_LEAST_OUTPUTS = 16
"""Sums of fewer are not worth a pass over the weight."""


@dataclass(frozen=True)
class Simplified:
    graph: Graph
    notes: tuple[str, ...]
    """What was removed, in sentences."""


def simplify(graph: Graph) -> Simplified:
    rewriter = _Rewriter(graph)
    nodes = [made for node in graph.nodes for made in rewriter.rewritten(node)]
    return Simplified(replace(graph, nodes=tuple(nodes)), tuple(dict.fromkeys(rewriter.notes)))


class _Rewriter:
    """Goes through the nodes in order. What takes a node's place has its name; what it needs before has others."""

    def __init__(self, graph: Graph) -> None:
        self.notes: list[str] = []
        self._values: dict[str, Any] = {one.name: one for one in (*graph.leaves, *graph.nodes)}
        self._leaves = {one.name for one in graph.leaves}
        self._taken = set(self._values)
        self._users: dict[str, int] = {}
        for name in references([graph.outputs, [[node.args, node.kwargs] for node in graph.nodes]]):
            self._users[name] = self._users.get(name, 0) + 1

    def rewritten(self, node: Node) -> list[Node]:
        rules: Sequence[Callable[[Node], list[Node] | None]] = (
            self._diagonal,
            self._outer,
            self._size_one,
            self._log_of_softmax,
            self._written_softmax,
            self._summed_product,
        )
        if node.shape is not None and (node.dtype or "").startswith(("float", "bfloat")):
            for rule in rules:
                if (made := rule(node)) is not None:
                    for one in made:
                        self._values[one.name] = one
                    return made
        return [node]

    def _diagonal(self, node: Node) -> list[Node] | None:
        """diag(v) @ x scales the rows of x, x @ diag(v) its columns."""
        if operator_name(node) not in ("matmul", "mm"):
            return None
        left, right = (self._values[str(reference(one))] for one in node.args)
        if (vector := self._diagonal_of(left)) is not None:
            if len(right.shape) == 1:
                made = [self._as(node, "aten.mul.Tensor", vector, right)]
            else:
                column = self._new(node, "column", "aten.unsqueeze.default", (vector, 1), (vector.shape[0], 1))
                made = [column, self._as(node, "aten.mul.Tensor", column, right)]
        elif (vector := self._diagonal_of(right)) is not None:
            made = [self._as(node, "aten.mul.Tensor", left, vector)]
        else:
            return None
        self.notes.append("A product with a diagonal matrix is a scaling by its diagonal.")
        return made

    def _outer(self, node: Node) -> list[Node] | None:
        """A product whose sum has one summand is no sum."""
        kind = operator_name(node)
        if kind in ("outer", "ger"):
            left, right = (self._values[str(reference(one))] for one in node.args)
            column = self._new(node, "column", "aten.unsqueeze.default", (left, 1), (left.shape[0], 1))
            made = [column, self._as(node, "aten.mul.Tensor", column, right)]
        elif kind in ("matmul", "mm", "bmm"):
            left, right = (self._values[str(reference(one))] for one in node.args)
            if min(len(left.shape), len(right.shape)) < 2 or left.shape[-1] != 1:
                return None
            made = [self._as(node, "aten.mul.Tensor", left, right)]
        else:
            return None
        self.notes.append("An outer product is a product of every pair.")
        return made

    def _diagonal_of(self, value: Any) -> Any:
        if (
            not isinstance(value, Node)
            or operator_name(value) not in _DIAGONALS
            or len(value.args) > 1
            or value.kwargs
        ):
            return None
        vector = self._values[str(reference(value.args[0]))]
        return vector if len(vector.shape) == 1 else None

    def _size_one(self, node: Node) -> list[Node] | None:
        """What reductions find along a dimension of size one."""
        kind, source = operator_name(node), self._source(node)
        if node.op == GETITEM and node.args[1] == 0 and isinstance(source, Node):
            if operator_name(source) not in ("max", "min") or not self._is_one(source):
                return None
            source = self._values[str(reference(source.args[0]))]
        elif kind not in _OF_ONE | set(_SOFTMAXES) or not self._is_one(node) or source.dtype != node.dtype:
            return None
        self.notes.append("A reduction along a dimension of size one gives the number itself.")
        if kind not in _SOFTMAXES:
            return [self._as(node, "aten.reshape.default", source, list(node.shape or ()))]
        if kind == "log_softmax":
            return [self._as(node, "aten.sub.Tensor", source, source)]  # not a number where PyTorch has none
        zero = self._new(node, "zero", "aten.sub.Tensor", (source, source), node.shape or ())
        return [zero, self._as(node, "aten.add.Tensor", zero, 1)]

    def _log_of_softmax(self, node: Node) -> list[Node] | None:
        """The logarithm of a softmax is a log softmax, but -inf where the softmax has come to zero."""
        softmax = self._source(node)
        if operator_name(node) != "log" or not isinstance(softmax, Node) or operator_name(softmax) != "softmax":
            return None
        source = self._source(softmax)
        if softmax.dtype != node.dtype or source.dtype != node.dtype or type(softmax.args[1]) is not int:
            return None
        self.notes.append("The logarithm of a softmax is a log softmax.")
        shape = node.shape or ()
        zero = replace(self._new(node, "zero", "aten.eq.Scalar", (softmax, 0), shape), dtype="bool")
        logarithm = self._new(node, "log_softmax", "aten.log_softmax.int", (source, softmax.args[1]), shape)
        return [zero, logarithm, self._as(node, "aten.masked_fill.Scalar", logarithm, zero, {"float": "-inf"})]

    def _written_softmax(self, node: Node) -> list[Node] | None:
        """Exponentials below the largest of a row over their sum, also where a product comes first."""
        top, total = (
            (self._values.get(str(reference(one))) for one in node.args[:2]) if node.args[1:] else (None, None)
        )
        if operator_name(node) != "div" or node.kwargs or not isinstance(top, Node) or not isinstance(total, Node):
            return None
        if top.shape != node.shape:
            return None  # the product with a vector has no rows
        product = top if operator_name(top) in ("matmul", "bmm") else None
        powers = top if product is None else self._source(product)
        shifted = self._source(powers) if isinstance(powers, Node) and operator_name(powers) == "exp" else None
        if not isinstance(shifted, Node) or operator_name(shifted) != "sub" or shifted.kwargs:
            return None
        scores, peak = (self._values.get(str(reference(one))) for one in shifted.args)
        if isinstance(peak, Node) and peak.op == GETITEM and peak.args[1] == 0:
            peak = self._source(peak)
        rows = ((peak, ("amax", "max"), scores), (total, ("sum",), powers))
        if self._users[powers.name] != 2 or not all(self._is_of_row(*one) for one in rows):
            return None
        self.notes.append("Exponentials below the largest of a row over their sum are a softmax.")
        if product is None:
            return [self._as(node, "aten.softmax.int", scores, -1)]
        softmax = self._new(node, "softmax", "aten.softmax.int", (scores, -1), powers.shape or ())
        return [softmax, self._as(node, product.op, softmax, product.args[1])]

    def _is_of_row(self, node: Any, kinds: Sequence[str], source: Any) -> bool:
        """Whether a node reduces the last dimension of another, which it keeps."""
        if not isinstance(node, Node) or operator_name(node) not in kinds or self._source(node) is not source:
            return False
        dim, last = find_argument(node, 1, "dim"), len(source.shape or ()) - 1
        return dim in (-1, last, [-1], [last]) and find_argument(node, 2, "keepdim", False) is True

    def _is_one(self, node: Node) -> bool:
        shape, dims = self._source(node).shape, find_argument(node, 1, "dim")
        axes = dims if isinstance(dims, list) else [dims]
        return bool(shape) and bool(axes) and all(type(one) is int and shape[one] == 1 for one in axes)

    def _summed_product(self, node: Node) -> list[Node] | None:
        """Sums over (groups of) the outputs of a linear map are the map of the summed weight."""
        if operator_name(node) not in _SUMS or node.kwargs.get("dtype") is not None:
            return None
        viewed = product = self._source(node)
        if (made := self._summed_before(node, viewed)) is not None:
            return made
        while isinstance(product, Node) and operator_name(product) in VIEWS and self._is_sole(product):
            product = self._source(product)
        if not isinstance(product, Node) or operator_name(product) not in PRODUCTS - {"einsum"}:
            return None
        if not self._is_sole(viewed) or not self._is_sole(product) or product.dtype != node.dtype:
            return None
        dims = find_argument(node, 1, "dim")
        if dims not in ([-1], [len(viewed.shape) - 1]):
            return None
        outputs, length = (product.shape or (0,))[-1], viewed.shape[-1]
        groups = outputs // length if length else 0
        grouped = viewed is product or viewed.shape[-2:] == (groups, length)
        if length < _LEAST_OUTPUTS or groups * length != outputs or not grouped:
            return None
        if (made := self._with_summed_weight(node, product, groups, length)) is not None:
            self.notes.append(
                f"The {operator_name(node)} over {length} outputs of {operator_name(product)} is a product with "
                "the summed weight."
            )
        return made

    def _summed_before(self, node: Node, scaled: Any) -> list[Node] | None:
        """What is multiplied by a number, or moved by a vector, may be summed before."""
        if not isinstance(scaled, Node) or scaled.kwargs or scaled.dtype != node.dtype or not self._is_sole(scaled):
            return None
        source, kind, others = self._source(scaled), operator_name(scaled), scaled.args[1:]
        vector = (
            self._values.get(str(reference(others[0]))) if kind in ("add", "sub") and len(others) == 1 else None
        )
        is_moved = vector is not None and vector.name in self._leaves and vector.shape == (scaled.shape or ())[-1:]
        is_scaled = kind in ("mul", "div") and len(others) == 1 and isinstance(others[0], int | float)
        is_same = kind in ALIASES and is_known(scaled)
        if source is None or source.shape != scaled.shape or not (is_same or is_scaled or is_moved):
            return None
        inner = replace(node, name=f"{node.name}_inner", args=(scaled.args[0], *node.args[1:]))
        if (made := self._summed_product(inner)) is None or is_same:
            return made and [*made[:-1], replace(made[-1], name=node.name)]
        moved = self._summed(node, "vector", vector, (1, -1), 1) if is_moved else []
        return [*made, *moved, self._as(node, scaled.op, made[-1], *(moved or others))]

    def _with_summed_weight(self, node: Node, product: Node, groups: int, length: int) -> list[Node] | None:
        kind = operator_name(product)
        added: Any = None
        x, weight = (self._values[str(reference(one))] for one in product.args[:2])
        if kind == "linear":
            added = find_argument(product, 2, "bias")
        elif kind == "addmm":
            added, x, weight = product.args[0], weight, self._values[str(reference(product.args[2]))]
        bias = self._values.get(str(reference(added))) if added is not None else None
        if product.kwargs.get("beta", 1) != 1 or product.kwargs.get("alpha", 1) != 1 or kind == "baddbmm":
            return None
        owner = self._source(weight) if isinstance(weight, Node) and is_view(weight) else weight
        if owner is None or owner.name not in self._leaves or len(weight.shape) != 2 or len(x.shape) < 2:
            return None
        if bias is not None and (bias.name not in self._leaves or bias.shape != (groups * length,)):
            return None
        shape, axis = ((groups, length, -1), 1) if kind == "linear" else ((-1, groups, length), 2)
        made = self._summed(node, "weight", weight, shape, axis)
        small, summed = (*x.shape[:-1], groups), made[-1]
        if bias is not None:
            made += self._summed(node, "bias", bias, (groups, length), 1)
        operands = (x, summed, *(made[-1:] if bias is not None else ()))
        if kind == "linear":
            made.append(self._new(node, "product", "aten.linear.default", operands, small))
        else:
            made.append(self._new(node, "product", "aten.matmul.default", operands[:2], small))
            if bias is not None:
                made.append(self._new(node, "biased", "aten.add.Tensor", (made[-1], operands[2]), small))
        if node.shape == small:
            return [*made[:-1], replace(made[-1], name=node.name)]
        if node.shape == small[:-1]:
            return [*made, self._as(node, "aten.squeeze.dim", made[-1], -1)]
        return [*made, self._as(node, "aten.reshape.default", made[-1], list(node.shape or ()))]

    def _summed(self, node: Node, name: str, value: Any, shape: tuple[int, ...], axis: int) -> list[Node]:
        """The sum, or the mean, over every group of outputs; sizes that need not be written are not."""
        op = f"aten.{operator_name(node)}.{'dim_IntList' if operator_name(node) == 'sum' else 'dim'}"
        whole = tuple(value.shape)
        if shape[axis - 1] == 1:
            axis -= 1
            rest = (*whole[:axis], 1, *whole[axis + 1 :])
            return [self._new(node, f"{name}_sum", op, (value, [axis], True), rest)]
        sizes = tuple(prod(whole) // -prod(shape) if size == -1 else size for size in shape)
        groups = [self._new(node, f"{name}_groups", "aten.reshape.default", (value, list(shape)), sizes)]
        rest = (*sizes[:axis], *sizes[axis + 1 :])
        return [*groups, self._new(node, f"{name}_sum", op, (groups[0], [axis]), rest)]

    def _source(self, node: Node) -> Any:
        return self._values.get(str(reference(node.args[0]))) if node.args else None

    def _is_sole(self, node: Any) -> bool:
        """Whether one user is all that a node has."""
        return self._users.get(node.name) == 1

    def _as(self, node: Node, op: str, *args: Any) -> Node:
        return Node(node.name, op, tuple(map(_argument, args)), {}, node.shape, node.dtype)

    def _new(self, node: Node, ending: str, op: str, args: Sequence[Any], shape: tuple[int, ...]) -> Node:
        name = f"{node.name}_{ending}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return Node(name, op, tuple(map(_argument, args)), {}, shape, node.dtype)


def _argument(value: Any) -> Any:
    return {"node": value.name} if hasattr(value, "name") else value
