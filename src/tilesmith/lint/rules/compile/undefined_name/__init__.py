"""Every name is bound where it is read."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.compile.undefined_name.never_bound import never_bound_names
from tilesmith.lint.rules.compile.undefined_name.out_of_scope import out_of_scope_names
from tilesmith.records import Finding


def undefined_name(source: KernelSource) -> Iterator[Finding]:
    """Names that nothing binds, and names that are read outside the loop or branch that binds them."""
    yield from never_bound_names(source)
    yield from out_of_scope_names(source)
