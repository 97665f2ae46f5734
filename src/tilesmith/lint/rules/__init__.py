"""The rules by id, in groups. A rule is a pure function from a `KernelSource` to findings."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules import cheating, compile, contract, launch, memory, plan
from tilesmith.lint.rules.findings import Rule
from tilesmith.records import Finding, Severity

STUMBLED = "rule-stumbled"
GRAVEST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.INFO)

GROUPS = (contract, plan, compile, memory, launch, cheating)
RULES: Mapping[str, Rule] = {rule.__name__.replace("_", "-"): rule for group in GROUPS for rule in group.RULES}
"""Rules by id. A rule's function and its module are named after the id."""


def apply_rules(source: KernelSource) -> tuple[Finding, ...]:
    """All findings, by line and gravity; those about the whole file come first."""
    findings = [finding for name, rule in RULES.items() for finding in _run(name, rule, source)]
    return tuple(sorted(findings, key=lambda f: (f.line or 0, GRAVEST_FIRST.index(f.severity), f.id)))


def _run(name: str, rule: Rule, source: KernelSource) -> list[Finding]:
    """A rule that stumbles says nothing against the kernel; that it stumbled is said."""
    try:
        return list(rule(source))
    except RecursionError:
        return []
    except Exception as error:
        message = f"the rule {name} could not read this file ({error!r}): please report it"
        return [Finding(STUMBLED, Severity.INFO, None, message)]
