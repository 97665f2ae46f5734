"""Complex numbers as pairs of real ones: kernels have no complex types, rotary embeddings and spectra do.

A pass in which every complex value comes from real ones (or from a tensor of the model) and goes back to them is
written out in pairs. Where anything else is done to one, all of them stay PyTorch's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilesmith.playbook.graph.operators import operator_name
from tilesmith.playbook.plan.rewriting.writer import Value, Writer
from tilesmith.tasks.graph import Graph, Input, Node, Parameter, reference, references

_REAL = {"complex64": "float32", "complex128": "float64"}
_MOVES = {
    "view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "slice", "select", "narrow", "transpose",
    "permute", "expand", "expand_as", "contiguous", "clone", "alias", "detach", "t",
}  # fmt: skip
"""What is done to both numbers of a pair alike."""
_Pair = tuple[Value, Value]


class _Unknown(Exception):
    """Something is done to a complex value that pairs do not do."""


def without_complex_numbers(graph: Graph) -> Graph:
    """The same pass on real numbers, or the pass as it is."""
    if not any(node.dtype in _REAL for node in graph.nodes):
        return graph
    try:
        return _GraphOfPairs(graph).written()
    except _Unknown:
        return graph


class _GraphOfPairs:
    """The pass so far, and what complex values are in it."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, Input | Parameter | Node] = {one.name: one for one in graph.leaves}
        self._pairs: dict[str, _Pair] = {}
        self._nodes: list[Node] = []
        if graph.writes or any(_REAL.get(str(one.dtype)) for one in graph.inputs):
            raise _Unknown

    def written(self) -> Graph:
        for node in self._graph.nodes:
            self._add(node)
        if any(name in self._pairs for name in references(self._graph.outputs)):
            raise _Unknown
        memory = {a: b for a, b in self._graph.memory.items() if a in self._known and b in self._known}
        return replace(self._graph, nodes=tuple(self._nodes), memory=memory)

    def _add(self, node: Node) -> None:
        kind = operator_name(node)
        named = references([node.args, node.kwargs])
        if node.dtype not in _REAL and not any(self._is_complex(name) for name in named):
            self._keep([node])
            return
        writer = Writer(node, self._known)
        if node.dtype in _REAL:
            if node.shape is None or node.kwargs:
                raise _Unknown
            self._pairs[node.name] = self._made(writer, kind)
            self._keep(writer.nodes)
            return
        real, imaginary = self._pair(writer, node.args[0])
        if kind == "view_as_real":
            writer.add("stack.default", ([real, imaginary], -1), node.shape or (), str(node.dtype))
        elif kind in ("real", "imag"):
            (real if kind == "real" else imaginary).apply("alias.default")
        else:
            raise _Unknown
        self._keep(writer.finished())

    def _keep(self, nodes: list[Node]) -> None:
        self._nodes += nodes
        self._known |= {node.name: node for node in nodes}

    def _is_complex(self, name: str) -> bool:
        return name in self._pairs or getattr(self._known.get(name), "dtype", None) in _REAL

    def _pair(self, writer: Writer, argument: Any) -> _Pair:
        """The two numbers of a complex operand; those of a tensor of the model are read out of it in place."""
        name = reference(argument)
        if name is None:
            raise _Unknown
        if name not in self._pairs:
            owned = self._known[name]
            if not isinstance(owned, Parameter):
                raise _Unknown
            dtype = _REAL[owned.dtype]
            both = writer.add("view_as_real.default", (writer.value(argument),), (*owned.shape, 2), dtype)
            self._pairs[name] = _halves(both)
        first, second = self._pairs[name]
        return replace(first, writer=writer), replace(second, writer=writer)

    def _made(self, writer: Writer, kind: str) -> _Pair:
        node = writer.node
        operands = [reference(one) for one in node.args[:2]]
        is_pair = [name is not None and self._is_complex(name) for name in operands]
        if kind == "view_as_complex":
            return _halves(writer.operand(0))
        if kind == "complex":
            return writer.operand(0), writer.operand(1)
        if kind == "polar":
            size, angle = writer.operand(0), writer.operand(1)
            return size * angle.apply("cos.default"), size * angle.apply("sin.default")
        if kind in _MOVES and is_pair[0] and not any(is_pair[1:]):
            op = node.op.removeprefix("aten.")
            real, imaginary = self._pair(writer, node.args[0])
            first = writer.add(op, (real, *node.args[1:]), node.shape or (), real.dtype)
            return first, writer.add(op, (imaginary, *node.args[1:]), node.shape or (), imaginary.dtype)
        if kind in ("conj", "_conj", "resolve_conj", "conj_physical", "neg") and is_pair[0]:
            real, imaginary = self._pair(writer, node.args[0])
            if kind == "resolve_conj":
                return real, imaginary
            return real.apply("neg.default") if kind == "neg" else real, imaginary.apply("neg.default")
        if kind == "mul" and any(is_pair):
            return self._multiplied(writer, is_pair)
        if kind in ("add", "sub") and is_pair == [True, True] and len(node.args) == 2:
            (a, b), (c, d) = (self._pair(writer, one) for one in node.args)
            return (a + c, b + d) if kind == "add" else (a - c, b - d)
        raise _Unknown

    def _multiplied(self, writer: Writer, is_pair: list[bool]) -> _Pair:
        first, second = writer.node.args
        if is_pair == [True, True]:
            (a, b), (c, d) = self._pair(writer, first), self._pair(writer, second)
            return a * c - b * d, a * d + b * c
        pair, other = (first, second) if is_pair[0] else (second, first)
        factor = writer.value(other)
        if not isinstance(factor, Value | int | float):
            raise _Unknown
        real, imaginary = self._pair(writer, pair)
        return real * factor, imaginary * factor


def _halves(both: Value) -> _Pair:
    shape = both.shape[:-1]
    first, second = (both.writer.add("select.int", (both, -1, i), shape, both.dtype) for i in (0, 1))
    return first, second
