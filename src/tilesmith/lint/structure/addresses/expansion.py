"""Addresses as sums of products: which lanes (`tl.arange`) an access has, and what moves each of them."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode
from tilesmith.lint.vocabulary import words

MOST_TERMS = 48
DEEPEST_EXPANSION = 24
SAME_VALUE = words(
    "multiple_of max_contiguous max_constancy cast expand_dims broadcast_to reshape view trans ravel maximum"
)
"""Functions whose result moves with their first argument."""


@dataclass(frozen=True)
class AddressTerm:
    """A product; what is added at every turn of a loop carries the assignment that adds it."""

    factors: tuple[FramedNode, ...]
    step: FramedNode | None = None
    negative: bool = False


@dataclass(frozen=True, eq=False)
class AddressLane:
    """One `tl.arange` inside an address."""

    arange: ast.Call
    frame: CallFrame
    own: AddressTerm
    address: list[AddressTerm]

    @cached_property
    def shifts(self) -> tuple[AddressTerm, ...]:
        """What moves the lane: the other terms on the same scale, without it."""
        scale = Counter(key(place) for place in self.own.factors if place.node is not self.arange)
        others = [term for term in self.address if term is not self.own]
        return tuple(residue for term in others if (residue := _residue(term, scale)) is not None)

    @property
    def track(self) -> tuple[ast.AST, frozenset[str]]:
        """The same for the same lane moved in the same way; what stands alone may be the pointer."""
        moved = [term for term in self.shifts if len(term.factors) > 1 or _counts(term.factors[0])]
        return self.arange, frozenset(key(place) for term in moved for place in term.factors)


class AddressExpansion:
    """Expands expressions of device code into sums of products."""

    def __init__(self, source: KernelSource) -> None:
        self.source, self.operation = source, source.operation
        self.known: dict[tuple[ast.AST, CallFrame], list[AddressTerm]] = {}
        self.open: list[FramedNode] = []
        """Assignments being expanded, against going round in circles."""

    def terms(self, node: ast.AST, frame: CallFrame) -> list[AddressTerm]:
        key = (node, frame)
        if key not in self.known:
            if len(self.open) > DEEPEST_EXPANSION:
                return [AddressTerm((FramedNode(node, frame),))]
            found = self._expand(node, frame)
            if self.open:
                return found
            self.known[key] = found
        return self.known[key]

    def _expand(self, node: ast.AST, frame: CallFrame) -> list[AddressTerm]:
        match node:
            case ast.BinOp(op=ast.Add()):
                return [*self.terms(node.left, frame), *self.terms(node.right, frame)][:MOST_TERMS]
            case ast.BinOp(op=ast.Sub()):
                less = [replace(term, negative=not term.negative) for term in self.terms(node.right, frame)]
                return [*self.terms(node.left, frame), *less][:MOST_TERMS]
            case ast.BinOp(op=ast.Mult()):
                return self._product(node, frame)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return self.terms(node.operand, frame)
            case ast.Name():
                return self._named(node, frame)
            case ast.Subscript() if _inserts_axes(node.slice):
                return self.terms(node.value, frame)
            case ast.IfExp():
                return [*self.terms(node.body, frame), *self.terms(node.orelse, frame)][:MOST_TERMS]
            case ast.Call():
                inner = self._same_value(node)
                return [AddressTerm((FramedNode(node, frame),))] if inner is None else self.terms(inner, frame)
        return [AddressTerm((FramedNode(node, frame),))]

    def _product(self, node: ast.BinOp, frame: CallFrame) -> list[AddressTerm]:
        left, right = self.terms(node.left, frame), self.terms(node.right, frame)
        if len(left) * len(right) > MOST_TERMS:
            return [AddressTerm((FramedNode(node, frame),))]
        return [_times(a, b) for a in left for b in right]

    def _named(self, node: ast.Name, frame: CallFrame) -> list[AddressTerm]:
        """All assignments that can hold here together; what a name adds to itself is a step."""
        values = frame.values(node)
        if not values:
            return [AddressTerm((FramedNode(node, frame),))]
        found: list[AddressTerm] = []
        for place in values:
            if place not in self.open:
                self.open.append(place)
                found += self._bound(node.id, place, frame)
                self.open.pop()
        return found[:MOST_TERMS]

    def _bound(self, name: str, place: FramedNode, frame: CallFrame) -> list[AddressTerm]:
        node = place.node
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.op, (ast.Add, ast.Sub)):
                return []
            return [replace(term, step=place) for term in self.terms(node.value, frame)]
        found = self.terms(node, place.frame)
        turns = place.frame is frame and name in frame.function.flow.syntax.names(node)
        looped = turns and bool(frame.function.loops_around(node))
        return [replace(term, step=place) for term in found] if looped else found

    def _same_value(self, call: ast.Call) -> ast.expr | None:
        if self.operation(call) in SAME_VALUE:
            return call.args[0] if call.args else None
        method = call.func
        if isinstance(method, ast.Attribute) and method.attr in ("to", "cast"):
            return method.value if self.source.dotted(method) is None else None
        return None

    def lanes(self, node: ast.AST, frame: CallFrame) -> list[AddressLane]:
        """Every arange the address runs along unbounded: not below `%`, `tl.minimum`, `tl.where` or a load."""
        found: list[AddressLane] = []
        waiting, seen = [FramedNode(node, frame)], {(node, frame)}
        while waiting:
            terms = self.terms(*waiting.pop())
            found += [lane for term in terms if (lane := self._lane(term, terms)) is not None]
            for inner in (quotient for term in terms for place in term.factors for quotient in _divided(place)):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)
        return found

    def _lane(self, term: AddressTerm, terms: list[AddressTerm]) -> AddressLane | None:
        aranges = [place for place in term.factors if self.operation(place.node) == "arange"]
        if len(aranges) != 1 or not isinstance(aranges[0].node, ast.Call):
            return None
        return AddressLane(aranges[0].node, aranges[0].frame, term, terms)


def _times(one: AddressTerm, other: AddressTerm) -> AddressTerm:
    return AddressTerm(one.factors + other.factors, one.step or other.step, one.negative != other.negative)


def _counts(place: FramedNode) -> bool:
    """A loop's own name."""
    node, frame = place
    return isinstance(node, ast.Name) and any(node.id in loop.indices for loop in frame.function.loops)


def _divided(place: FramedNode) -> list[FramedNode]:
    """What `i // W` runs along: a quotient leaves its size when the dividend does."""
    node, frame = place
    whole = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.RShift))
    return [FramedNode(node.left, frame)] if whole and isinstance(node, ast.BinOp) else []


def key(place: FramedNode) -> str:
    """The same text in the same function is the same thing."""
    node = place.node
    text = node.id if isinstance(node, ast.Name) else ast.unparse(node)
    return f"{place.frame.function.name}:{text}"


def _residue(term: AddressTerm, scale: Counter[str]) -> AddressTerm | None:
    """A term without the lane's own scale; None when it moves along something else."""
    left = Counter(scale)
    kept = []
    for place in term.factors:
        if left[key(place)] > 0:
            left[key(place)] -= 1
        else:
            kept.append(place)
    return replace(term, factors=tuple(kept)) if kept and not +left else None


def _inserts_axes(index: ast.expr) -> bool:
    for part in index.elts if isinstance(index, ast.Tuple) else [index]:
        if not isinstance(part, ast.Slice) and not (isinstance(part, ast.Constant) and part.value is None):
            return False
    return True
