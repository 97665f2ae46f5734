"""Triton has only its own functions, methods and keywords."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.compile.unknown_language_function.function_names import unknown_functions
from tilesmith.lint.rules.compile.unknown_language_function.members_and_arguments import (
    unknown_members_and_arguments,
)
from tilesmith.records import Finding


def unknown_language_function(source: KernelSource) -> Iterator[Finding]:
    """Functions, tensor methods and arguments that `triton.language` has in no release."""
    yield from unknown_functions(source)
    yield from unknown_members_and_arguments(source)
