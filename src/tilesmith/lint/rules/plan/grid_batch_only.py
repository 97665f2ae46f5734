"""Recurrent kernels that use too few programs."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.structure.recurrence.serial_hidden_units import serial_time_loops
from tilesmith.records import Finding


@first_on_each_line
def grid_batch_only(source: KernelSource) -> Iterator[Finding]:
    """A time loop in which each program does the whole hidden dimension, one part after the other."""
    for loop in serial_time_loops(source):
        message = (
            "in every step each program walks over all hidden units by itself, so the grid covers only the "
            "batch: give the grid an axis over tiles of hidden units, or hold all of them in one tl.dot"
        )
        yield warning("grid-batch-only", loop.node.lineno, message)
