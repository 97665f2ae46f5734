"""A kernel is a small part of Python: constructs, functions and types that Triton does not compile."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.compile.python_in_kernel.changed_types import changed_types
from tilesmith.lint.rules.compile.python_in_kernel.constructs import refused_constructs
from tilesmith.lint.rules.compile.python_in_kernel.host_functions import host_functions
from tilesmith.records import Finding


def python_in_kernel(source: KernelSource) -> Iterator[Finding]:
    """Constructs, host functions, and variables whose type changes."""
    yield from refused_constructs(source)
    yield from host_functions(source)
    yield from changed_types(source)
