"""An autotuner should try few configs."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.model.syntax.call_arguments import keyword
from tilesmith.lint.rules.findings import warning
from tilesmith.records import Finding

MOST_CONFIGS = 32


def too_many_configs(source: KernelSource) -> Iterator[Finding]:
    """More configs than anyone wants to compile and time for every new shape."""
    for function in source.jit_functions:
        tuner = function.autotune
        if tuner is None or tuner.count is None or tuner.count <= MOST_CONFIGS:
            continue
        if keyword(tuner.decorator, "prune_configs_by") is None:
            message = (
                f"{tuner.count} autotune configs, each compiled and timed for every new key: keep the ten or so "
                "that matter, or prune them with prune_configs_by"
            )
            yield warning("too-many-configs", tuner.decorator.lineno, message)
