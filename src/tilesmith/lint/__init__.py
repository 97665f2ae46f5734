"""A pure, static reading of a candidate: what kind of kernel it is and what is wrong with it.

    text ──read_kernel──► KernelSource ──lint──► LintReport(findings, kernel_type, complexity)

Only the syntax tree is read. Nothing here imports torch, triton or the candidate.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.lint.classify import classify
from tilesmith.lint.model.reading import read_kernel
from tilesmith.lint.model.source import JitFunction, KernelSource, KernelSyntaxError, LaunchSite, TaskFacts
from tilesmith.lint.rules import RULES, apply_rules
from tilesmith.records import Finding

__all__ = [
    "RULES",
    "JitFunction",
    "KernelSource",
    "KernelSyntaxError",
    "LaunchSite",
    "LintReport",
    "TaskFacts",
    "lint",
    "read_kernel",
]


@dataclass(frozen=True)
class LintReport:
    """Everything a static reading has to say about one candidate."""

    findings: tuple[Finding, ...]
    kernel_type: str
    complexity: str


def lint(source: KernelSource) -> LintReport:
    """Every rule and the classification, in one go; findings come in line order."""
    classification = classify(source)
    return LintReport(apply_rules(source), classification.kernel_type, classification.complexity)
