"""Loads, stores and atomics of device code with their address and mask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.call_arguments import argument
from tilesmith.lint.model.memory import remembered
from tilesmith.lint.model.source import KernelSource, LanguageCall
from tilesmith.lint.structure.addresses import Expansion
from tilesmith.lint.structure.frames import Frame, Place, frames_of
from tilesmith.lint.vocabulary import words

MOST_ACCESSES = 300
MASK_POSITION = {
    "load": 1,
    "store": 2,
    **dict.fromkeys(words("atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg"), 2),
}


@dataclass(frozen=True, eq=False)
class Access:
    """One access as one frame performs it."""

    call: LanguageCall
    frame: Frame
    pointer: ast.expr
    mask: ast.expr | None

    @property
    def is_load(self) -> bool:
        return self.call.operation == "load"

    @cached_property
    def masked_parts(self) -> list[Place]:
        """Every node behind the mask."""
        return [] if self.mask is None else self.frame.behind(self.mask)

    def comparisons(self) -> Iterator[Place]:
        return (place for place in self.masked_parts if isinstance(place.node, ast.Compare))

    def base_parameters(self, expansion: Expansion) -> list[str]:
        """Parameters of the kernel that stand alone in the address: the pointer first."""
        found = []
        for term in expansion.terms(self.pointer, self.frame):
            node = term.factors[0].node
            if len(term.factors) == 1 and isinstance(node, ast.Name) and term.factors[0].frame.caller is None:
                found.append(node.id)
        return [name for name in found if name in self.frame.kernel.params]

    def base(self, expansion: Expansion) -> list[str]:
        """The pointer alone, if it is in sight."""
        return self.base_parameters(expansion)[:1]


@remembered
def expansion_of(source: KernelSource) -> Expansion:
    """One for all rules: what it has expanded once it knows."""
    return Expansion(source.names.dotted)


@remembered
def accesses_of(source: KernelSource) -> tuple[Access, ...]:
    """All accesses through pointers, kernel by kernel."""
    found = [_read(call, frame) for frame in frames_of(source) for call in frame.function.calls]
    return tuple(access for access in found if access is not None)


@remembered
def by_kernel(source: KernelSource) -> tuple[list[Access], ...]:
    """Accesses in groups, each kernel's own first; of absurdly many the first ones."""
    groups: dict[Frame, list[Access]] = {}
    for access in accesses_of(source):
        groups.setdefault(access.frame.root, []).append(access)
    return tuple(group[:MOST_ACCESSES] for group in groups.values())


def _read(call: LanguageCall, frame: Frame) -> Access | None:
    position = MASK_POSITION.get(call.operation)
    if position is None:
        return None
    pointer = argument(call.node, 0, "pointer")
    mask = argument(call.node, position, "mask")
    if isinstance(mask, ast.Constant) and mask.value is None:
        mask = None
    return None if pointer is None else Access(call, frame, pointer, mask)
