"""Nodes in place of one: a small language to write composite operators out in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.tasks.graph import Input, Node, Parameter, reference

MEAN, SUM = 1, 2
"""How PyTorch counts the reductions of losses; 0 is none."""


@dataclass(frozen=True)
class Value:
    """A value of the graph that more can be computed from."""

    writer: Writer
    name: str
    shape: tuple[int, ...]
    dtype: str

    def __add__(self, other: Any) -> Value:
        return self.apply("add.Tensor", other)

    def __sub__(self, other: Any) -> Value:
        return self.apply("sub.Tensor", other)

    def __rsub__(self, other: Any) -> Value:
        return self.apply("rsub.Scalar", other)

    def __mul__(self, other: Any) -> Value:
        return self.apply("mul.Tensor", other)

    def __truediv__(self, other: Any) -> Value:
        return self.apply("div.Tensor", other)

    def compared(self, how: str, other: float) -> Value:
        """`lt`, `eq` and the like with a number."""
        return self.apply(f"{how}.Scalar", other, dtype="bool")

    def where(self, one: Value, other: Any) -> Value:
        return one.apply("where.self", other, first=self)

    def mean(self, dims: list[int]) -> Value:
        """Over some dimensions, which stay."""
        shape = tuple(1 if i in dims else size for i, size in enumerate(self.shape))
        return self.writer.add("mean.dim", (self, dims, True), shape, self.dtype)

    def over(self, op: str, dim: int, *before: Any) -> Value:
        """A reduction over one dimension."""
        dim %= len(self.shape)
        shape = self.shape[:dim] + self.shape[dim + 1 :]
        return self.writer.add(op, (self, *before, [dim]), shape, self.dtype)

    def viewed(self, shape: tuple[int, ...], rest: int | None = None) -> Value:
        """`rest`: the dimension that takes what the others leave."""
        asked = [-1 if i == rest else size for i, size in enumerate(shape)]
        return self.writer.add("reshape.default", (self, asked), shape, self.dtype)

    def apply(self, op: str, *others: Any, dtype: str = "", first: Value | None = None) -> Value:
        """A pointwise operator."""
        operands = (*((first,) if first else ()), self, *others)
        shapes = [one.shape for one in operands if isinstance(one, Value)]
        return self.writer.add(op, operands, _broadcast(shapes), dtype or self.dtype)


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))


def _told(operand: Any) -> Any:
    if isinstance(operand, Value):
        return {"node": operand.name}
    return [_told(one) for one in operand] if isinstance(operand, list) else operand


class Writer:
    """Writes nodes in place of one; the last of them has its name."""

    def __init__(
        self, node: Node, known: Mapping[str, Input | Parameter | Node], results: tuple[Node, ...] = ()
    ) -> None:
        self.node, self.known, self.results = node, known, results
        self.nodes: list[Node] = []
        self.writes: dict[str, tuple[str, ...]] = {}
        """Nodes that write into tensors, and into which."""

    def operand(self, position: int, name: str = "", default: Any = None) -> Any:
        return self.value(find_argument(self.node, position, name, default))

    def value(self, value: Any) -> Any:
        """An argument, as a value where it is one."""
        found = self.known.get(reference(value) or "")
        if found is None or found.shape is None or found.dtype is None:
            return float(value["float"]) if isinstance(value, Mapping) and "float" in value else value
        return Value(self, found.name, found.shape, found.dtype)

    def add(self, op: str, operands: tuple[Any, ...], shape: tuple[int, ...], dtype: str, **options: Any) -> Value:
        name = f"{self.node.name}_{op.partition('.')[0]}"
        taken = {node.name for node in self.nodes} | self.known.keys()
        name = next(one for one in chain([name], (f"{name}_{i}" for i in count(1))) if one not in taken)
        self.nodes.append(Node(name, f"aten.{op}", tuple(map(_told, operands)), options, shape, dtype))
        return Value(self, name, shape, dtype)

    def move_towards(self, target: Value, value: Value, share: float) -> None:
        """Writes into the target."""
        written = self.add("lerp_.Scalar", (target, value, share), target.shape, target.dtype)
        self.writes[written.name] = (target.name,)

    def reduced(self, value: Value, reduction: Any) -> None:
        if reduction in (MEAN, SUM):
            self.add("mean.default" if reduction == MEAN else "sum.default", (value,), (), value.dtype)

    def gives_the_same(self) -> bool:
        """Whether the last node has the form of the one it stands for: operands of several types may not."""
        return (self.nodes[-1].shape, self.nodes[-1].dtype) == (self.node.shape, self.node.dtype)

    def finished(self) -> list[Node]:
        return [*self.nodes[:-1], replace(self.nodes[-1], name=self.node.name)]
