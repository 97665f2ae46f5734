"""Shapes, axes and unrolled loops take constants only, and the shapes of blocks must match."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.compile.constexpr_misuse.mismatched_shapes import mismatched_shapes
from tilesmith.lint.rules.compile.constexpr_misuse.runtime_values import misused_constants
from tilesmith.records import Finding


def constexpr_misuse(source: KernelSource) -> Iterator[Finding]:
    """Run-time values where constants are needed, and shapes that do not match."""
    yield from misused_constants(source)
    yield from mismatched_shapes(source)
