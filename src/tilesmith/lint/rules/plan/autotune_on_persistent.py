"""Autotuning where it breaks or cannot help."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.kernel_kinds.kernel_type import kernel_type
from tilesmith.lint.structure.kernel_kinds.synchronization import waits_for_others
from tilesmith.records import Finding


def autotune_on_persistent(source: KernelSource) -> Iterator[Finding]:
    """`@triton.autotune` on a kernel that keeps a state through time, or whose programs wait for each other."""
    for kernel in source.kernels:
        if kernel.autotune is None or kernel.autotune.count == 1:
            continue
        if kernel_type(kernel, source) == "persistent_recurrent":
            reason = "keeps its state in registers through all steps, so other tiles and warps spill it"
        elif waits_for_others(source.with_callees(kernel)):
            reason = "has programs that wait for each other, so a configuration that does not fit at once hangs"
        else:
            continue
        message = f"autotuning runs {kernel.name}, which {reason}: fix one configuration and drop @triton.autotune"
        yield warning("autotune-on-persistent", kernel.autotune.decorator.lineno, message)
