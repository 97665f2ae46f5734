"""A launch must compute something that is returned."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.launches.decoys import Decoy, decoys
from tilesmith.records import Finding

REASONS = {
    Decoy.COPIES: "this kernel puts out what it read, unchanged: let it compute the result, or drop the launch",
    Decoy.UNUSED: "nothing returned depends on what this launch writes: return its result, or drop the launch",
}


def decoy_kernel(source: KernelSource) -> Iterator[Finding]:
    """A launch whose result does not reach the returned value, or that copies, adds zero, touches one element."""
    for launch, reason in decoys(source).items():
        yield warning("decoy-kernel", launch.line, REASONS[reason])
