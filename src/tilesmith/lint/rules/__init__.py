"""The rules by id, in groups. A rule is a pure function from a `KernelSource` to findings."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules import compile, honesty, launch, memory, plan
from tilesmith.lint.rules.findings import Rule
from tilesmith.records import Finding

RULES: Mapping[str, Rule] = {
    **plan.RULES,
    **compile.RULES,
    **memory.RULES,
    **launch.RULES,
    **honesty.RULES,
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
