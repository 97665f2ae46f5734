"""State that does not fit into registers."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.recurrence.carried_blocks import carried_blocks
from tilesmith.records import Finding

MOST_REGISTERS = 255
"""Of a thread, on every NVIDIA GPU since Kepler."""


def register_budget(source: KernelSource) -> Iterator[Finding]:
    """Blocks that a loop carries and that no configuration has the registers for; the first loop of a kernel."""
    for kernel in source.kernels:
        excessive = [c for c in carried_blocks(kernel, source) if c.registers > MOST_REGISTERS]
        for carried in excessive[:1]:
            names = ", ".join(carried.names)
            message = (
                f"the loop carries {names}: {carried.registers} registers per thread at {carried.warps} warps, "
                f"and a thread has {MOST_REGISTERS}, so they spill: take smaller tiles or more warps"
            )
            yield warning("register-budget", carried.loop.node.lineno, message)
