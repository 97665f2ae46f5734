"""The rules by id, in groups. A rule is a pure function from a `KernelSource` to findings."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import Rule
from tilesmith.records import Finding, Severity

STUMBLED = "rule-stumbled"
GRAVEST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.INFO)
GROUPS: Mapping[str, str] = {
    "contract": "interface-mismatch no-model-class",
    "plan": """
        time-loop-on-host grid-batch-only scalar-vector-loop direct-convolution no-tensor-core
        register-budget autotune-on-persistent small-launch-count
    """,
    "compile": """
        arange-not-power-of-two arange-runtime-bound tensor-indexing grid-axis break-in-kernel
        return-in-loop tensor-truth unknown-language-function undefined-name constexpr-misuse
        dot-tile-too-small global-in-kernel python-in-kernel launch-arguments
    """,
    "memory": """
        missing-mask missing-other unsafe-exp low-precision-accumulator int32-overflow stride-reuse
        contiguity-assumed tf32-implicit atomic-order
    """,
    "launch": "grid-coverage meta-parameter-twice autotune-key-missing too-many-configs output-not-written",
    "cheating": """
        no-triton-launch torch-does-the-work decoy-kernel cached-output try-except-fallback flags-flipped
        side-stream patched-runtime reference-imported environment-sniffing
    """,
}
"""The ids of each group, a folder beside this file."""


def _rule(group: str, rule: str) -> Rule:
    """The function in the module; both are named after the id."""
    name = rule.replace("-", "_")
    found: Rule = getattr(import_module(f"{__name__}.{group}.{name}"), name)
    return found


RULES: Mapping[str, Rule] = {rule: _rule(group, rule) for group, rules in GROUPS.items() for rule in rules.split()}
"""Rules by id."""


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
