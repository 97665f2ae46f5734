"""What moves an address: programs, lanes and turns of loops, also where they are cut out of a flat number."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field

from tilesmith.lint.model.memory import remembered
from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.structure.accesses import expansion_of
from tilesmith.lint.structure.addresses import Term, key
from tilesmith.lint.structure.frames import Frame, Place

CUTS = (ast.FloorDiv, ast.Mod)
DEEPEST_CUT = 6


@dataclass(frozen=True)
class Mover:
    """`tl.arange(...)`, `tl.program_id(0)`, a loop's index, or `pid // W` and `pid % W` of one of these."""

    identity: object
    under: frozenset[object] = field(compare=False, default=frozenset())
    """What it is cut out of."""

    def is_in(self, others: frozenset[Mover]) -> bool:
        """It cannot change unless one of them does."""
        return self in others or bool(self.under & {other.identity for other in others})


@dataclass(frozen=True)
class Axis:
    """One term of an address: what moves it, and by how much."""

    movers: frozenset[Mover]
    scale: Counter[str]


@remembered
def movers_of(source: KernelSource) -> Movers:
    return Movers(source)


class Movers:
    """Reads addresses of one file."""

    def __init__(self, source: KernelSource) -> None:
        self.expansion = expansion_of(source)
        self._axes: dict[tuple[ast.AST, Frame], list[list[Axis]]] = {}

    def axes(self, address: ast.AST, frame: Frame) -> list[list[Axis]]:
        """The terms of the address, then those of everything in it that is cut."""
        if (address, frame) not in self._axes:
            self._axes[address, frame] = self._read(address, frame, DEEPEST_CUT)
        return self._axes[address, frame]

    def _read(self, address: ast.AST, frame: Frame, depth: int) -> list[list[Axis]]:
        terms = self.expansion.terms(address, frame)
        found = [[self._axis(term) for term in terms]]
        cut = [place for term in terms for place in term.factors if _is_cut(place.node)]
        for node, inner in cut if depth else ():
            if isinstance(node, ast.BinOp):
                found += self._read(node.left, inner, depth - 1)
        return found

    def of(self, address: ast.AST, frame: Frame) -> frozenset[Mover]:
        return frozenset(mover for axis in self.axes(address, frame)[0] for mover in axis.movers)

    def _axis(self, term: Term) -> Axis:
        moved = [(place, self._behind(place, DEEPEST_CUT)) for place in term.factors]
        still = Counter(key(place) for place, movers in moved if not movers)
        return Axis(frozenset[Mover]().union(_stepped(term), *(movers for _, movers in moved)), still)

    def _behind(self, place: Place, depth: int) -> frozenset[Mover]:
        node, frame = place
        operation = self.expansion.operation(node)
        if operation == "arange":
            return frozenset({Mover(node)})
        if operation == "program_id":
            return frozenset({Mover(ast.dump(node))})
        if isinstance(node, ast.Name):
            turns = [loop.node for loop in frame.function.loops if node.id in loop.indices]
            return frozenset({Mover(turn) for turn in turns[:1]})
        if not depth or operation == "load":
            return frozenset()
        inner = [place for child in _parts(node) for place in self._leaves(child, frame)]
        found = frozenset[Mover]().union(*(self._behind(leaf, depth - 1) for leaf in inner))
        if not found or not _is_cut(node):
            return found
        under = frozenset(i for mover in found for i in (mover.identity, *mover.under))
        return frozenset({Mover((frame, ast.unparse(node)), under)})

    def _leaves(self, node: ast.AST, frame: Frame) -> list[Place]:
        return [place for term in self.expansion.terms(node, frame) for place in term.factors]


def _stepped(term: Term) -> frozenset[Mover]:
    """A pointer that each turn of a loop moves on."""
    if term.step is None:
        return frozenset()
    node, frame = term.step
    return frozenset(Mover(loop.node) for loop in frame.function.loops_around(node)[-1:])


def _parts(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.Call():
            return [*node.args, *(keyword.value for keyword in node.keywords)]
        case ast.List() | ast.Tuple():
            return [*node.elts]
    return []


def _is_cut(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, CUTS)
