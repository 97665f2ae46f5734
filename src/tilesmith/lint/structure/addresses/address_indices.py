"""What an address is indexed by: programs, lanes and turns of loops, also where a flat number is cut into them."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field

from tilesmith.lint.model.source import KernelSource, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.structure.addresses.accesses import expansion_of
from tilesmith.lint.structure.addresses.expansion import AddressTerm, key
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode

CUTS = (ast.FloorDiv, ast.Mod)
DEEPEST_CUT = 6


@dataclass(frozen=True)
class AddressIndex:
    """`tl.arange(...)`, `tl.program_id(0)`, a loop's index, or `pid // W` and `pid % W` of one of these."""

    identity: object
    under: frozenset[object] = field(compare=False, default=frozenset())
    """What it is cut out of."""

    def is_in(self, others: frozenset[AddressIndex]) -> bool:
        """It cannot change unless one of them does."""
        return self in others or bool(self.under & {other.identity for other in others})


@dataclass(frozen=True)
class AddressAxis:
    """One term of an address: what indexes it, and its scale."""

    indices: frozenset[AddressIndex]
    scale: Counter[str]


@cached_per_source
def address_indices_of(source: KernelSource) -> AddressIndices:
    return AddressIndices(source)


class AddressIndices:
    """Reads addresses of one file."""

    def __init__(self, source: KernelSource) -> None:
        self.expansion = expansion_of(source)
        self._axes: dict[tuple[ast.AST, CallFrame], list[list[AddressAxis]]] = {}

    def axes(self, address: ast.AST, frame: CallFrame) -> list[list[AddressAxis]]:
        """The terms of the address, then those of everything in it that is cut."""
        if (address, frame) not in self._axes:
            self._axes[address, frame] = self._read(address, frame, DEEPEST_CUT)
        return self._axes[address, frame]

    def _read(self, address: ast.AST, frame: CallFrame, depth: int) -> list[list[AddressAxis]]:
        terms = self.expansion.terms(address, frame)
        found = [[self._axis(term) for term in terms]]
        cut = [place for term in terms for place in term.factors if _is_cut(place.node)]
        for node, inner in cut if depth else ():
            if isinstance(node, ast.BinOp):
                found += self._read(node.left, inner, depth - 1)
        return found

    def of(self, address: ast.AST, frame: CallFrame) -> frozenset[AddressIndex]:
        return frozenset(index for axis in self.axes(address, frame)[0] for index in axis.indices)

    def _axis(self, term: AddressTerm) -> AddressAxis:
        moved = [(place, self._behind(place, DEEPEST_CUT)) for place in term.factors]
        still = Counter(key(place) for place, indices in moved if not indices)
        return AddressAxis(
            frozenset[AddressIndex]().union(_stepped(term), *(indices for _, indices in moved)), still
        )

    def _behind(self, place: FramedNode, depth: int) -> frozenset[AddressIndex]:
        node, frame = place
        operation = self.expansion.operation(node)
        if operation == "arange":
            return frozenset({AddressIndex(node)})
        if operation == "program_id":
            return frozenset({AddressIndex(ast.dump(node))})
        if isinstance(node, ast.Name):
            turns = [loop.node for loop in frame.function.loops if node.id in loop.indices]
            return frozenset({AddressIndex(turn) for turn in turns[:1]})
        if not depth or operation == "load":
            return frozenset()
        inner = [place for child in _parts(node) for place in self._leaves(child, frame)]
        found = frozenset[AddressIndex]().union(*(self._behind(leaf, depth - 1) for leaf in inner))
        if not found or not _is_cut(node):
            return found
        under = frozenset(i for index in found for i in (index.identity, *index.under))
        return frozenset({AddressIndex((frame, ast.unparse(node)), under)})

    def _leaves(self, node: ast.AST, frame: CallFrame) -> list[FramedNode]:
        return [place for term in self.expansion.terms(node, frame) for place in term.factors]


def _stepped(term: AddressTerm) -> frozenset[AddressIndex]:
    """A pointer that each turn of a loop moves on."""
    if term.step is None:
        return frozenset()
    node, frame = term.step
    return frozenset(AddressIndex(loop.node) for loop in frame.function.loops_around(node)[-1:])


def _parts(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.Call():
            return [*all_arguments(node)]
        case ast.List() | ast.Tuple():
            return [*node.elts]
    return []


def _is_cut(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, CUTS)
