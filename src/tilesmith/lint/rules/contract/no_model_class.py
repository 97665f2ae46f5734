"""A candidate must define `ModelNew`."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.records import Finding, Severity


def no_model_class(source: KernelSource) -> Iterator[Finding]:
    """Nothing in the file can leave a `ModelNew` behind: fatal for a task, normal for a file of operators."""
    if not source.has_model_class:
        severity = Severity.ERROR if source.facts.has_task else Severity.INFO
        message = "no class ModelNew: define `class ModelNew(nn.Module)` with the reference model's interface"
        yield Finding("no-model-class", severity, None, message)
