"""Loads, stores and atomics of device code with their address and mask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.source import KernelSource, LanguageCall, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.lint.structure.addresses.expansion import AddressExpansion
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode, frames_of
from tilesmith.lint.vocabulary import words

MOST_ACCESSES = 300
MASK_POSITION = {
    "load": 1,
    "store": 2,
    **dict.fromkeys(words("atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg"), 2),
}


@dataclass(frozen=True, eq=False)
class KernelAccess:
    """One access as one frame performs it."""

    call: LanguageCall
    frame: CallFrame
    pointer: ast.expr
    mask: ast.expr | None

    @property
    def is_load(self) -> bool:
        return self.call.operation == "load"

    @cached_property
    def masked_parts(self) -> list[FramedNode]:
        """Every node behind the mask."""
        return [] if self.mask is None else self.frame.behind(self.mask)

    def comparisons(self) -> Iterator[FramedNode]:
        return (place for place in self.masked_parts if isinstance(place.node, ast.Compare))

    def base_parameters(self, expansion: AddressExpansion) -> list[str]:
        """Parameters of the kernel that stand alone in the address: the pointer first."""
        found = []
        for term in expansion.terms(self.pointer, self.frame):
            node = term.factors[0].node
            if len(term.factors) == 1 and isinstance(node, ast.Name) and term.factors[0].frame.caller is None:
                found.append(node.id)
        return [name for name in found if name in self.frame.kernel.params]

    def base(self, expansion: AddressExpansion) -> list[str]:
        """The pointer alone, if it is in sight."""
        return self.base_parameters(expansion)[:1]


@cached_per_source
def expansion_of(source: KernelSource) -> AddressExpansion:
    """One for all rules: what it has expanded once it knows."""
    return AddressExpansion(source)


@cached_per_source
def accesses_of(source: KernelSource) -> tuple[KernelAccess, ...]:
    """All accesses through pointers, kernel by kernel."""
    found = [_read(call, frame) for frame in frames_of(source) for call in frame.function.calls]
    return tuple(access for access in found if access is not None)


@cached_per_source
def by_kernel(source: KernelSource) -> tuple[list[KernelAccess], ...]:
    """Accesses in groups, each kernel's own first; of absurdly many the first ones."""
    groups: dict[CallFrame, list[KernelAccess]] = {}
    for access in accesses_of(source):
        groups.setdefault(access.frame.root, []).append(access)
    return tuple(group[:MOST_ACCESSES] for group in groups.values())


def _read(call: LanguageCall, frame: CallFrame) -> KernelAccess | None:
    position = MASK_POSITION.get(call.operation)
    if position is None:
        return None
    pointer = argument(call.node, 0, "pointer")
    mask = argument(call.node, position, "mask")
    if isinstance(mask, ast.Constant) and mask.value is None:
        mask = None
    return None if pointer is None else KernelAccess(call, frame, pointer, mask)
