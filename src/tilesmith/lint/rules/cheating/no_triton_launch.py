"""A candidate must launch a Triton kernel."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.records import Finding


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
