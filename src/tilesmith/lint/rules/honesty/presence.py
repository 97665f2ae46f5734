"""Is there a model at all, and does it really use Triton?"""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.records import Finding, Severity


def no_model_class(source: KernelSource) -> Iterator[Finding]:
    """Nothing in the file can leave a `ModelNew` behind: fatal for a task, normal for a file of operators."""
    if not source.has_model_class:
        severity = Severity.ERROR if source.given.has_task else Severity.INFO
        message = "no class ModelNew: define `class ModelNew(nn.Module)` with the reference model's interface"
        yield Finding("no-model-class", severity, None, message)


def no_triton_launch(source: KernelSource) -> Iterator[Finding]:
    """No kernel is started: PyTorch would be measured against itself."""
    if not source.launches:
        if source.has_model_class or not _is_library(source):
            message = "no Triton kernel is launched: start one with `kernel[grid](...)` from ModelNew.forward"
            yield warning("no-triton-launch", None, message)
    elif not source.live_launches:
        message = "nothing that runs leads to this launch: call it from ModelNew.forward"
        yield warning("no-triton-launch", source.launches[0].line, message)


def _is_library(source: KernelSource) -> bool:
    """Kernels for other files to launch, or handed to something that does."""
    kernels = {function.name for function in source.jit_functions}
    used = any(kernels & source.syntax.names(host.node) for host in source.hosts)
    return bool(kernels) and (used or not source.hosts)
