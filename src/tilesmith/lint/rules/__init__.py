"""The rules by id. A rule is a pure function from a `KernelSource` to findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tilesmith.lint.rules.arange import arange_not_power_of_two, arange_runtime_bound
from tilesmith.lint.rules.control_flow import break_in_kernel
from tilesmith.lint.rules.honesty import no_model_class, no_triton_launch, try_except_around_launch
from tilesmith.lint.rules.host_loops import time_loop_on_host
from tilesmith.lint.rules.indexing import tensor_indexing
from tilesmith.lint.rules.language import grid_axis, unknown_language_function
from tilesmith.lint.source import KernelSource
from tilesmith.records import Finding

Rule = Callable[[KernelSource], Iterable[Finding]]

RULES: Mapping[str, Rule] = {
    "no-model-class": no_model_class,
    "arange-not-power-of-two": arange_not_power_of_two,
    "arange-runtime-bound": arange_runtime_bound,
    "tensor-indexing": tensor_indexing,
    "grid-axis": grid_axis,
    "unknown-language-function": unknown_language_function,
    "break-in-kernel": break_in_kernel,
    "no-triton-launch": no_triton_launch,
    "time-loop-on-host": time_loop_on_host,
    "try-except-around-launch": try_except_around_launch,
}


def apply_rules(source: KernelSource) -> tuple[Finding, ...]:
    """All findings, by line; those about the whole file come first."""
    findings = [finding for rule in RULES.values() for finding in _run(rule, source)]
    return tuple(sorted(findings, key=lambda finding: (finding.line or 0, finding.id)))


def _run(rule: Rule, source: KernelSource) -> list[Finding]:
    """A source too deep for one rule's recursion says nothing against the kernel."""
    try:
        return list(rule(source))
    except RecursionError:
        return []
