"""What can be read off a kernel's source: the facts by which good seeds and bad ones may differ."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint import KernelSource, KernelSyntaxError, lint, read_kernel
from tilesmith.lint.structure.host_code.torch_work import torch_work
from tilesmith.lint.structure.launches.grids import read_grid
from tilesmith.records import Severity

UNREADABLE = "is not Python"


def code_features(text: str) -> frozenset[str]:
    """Every feature the source has, a few words each."""
    try:
        source = read_kernel(text)
    except KernelSyntaxError:
        return frozenset({UNREADABLE})
    report = lint(source)
    findings = (f"finding {one.id}" for one in report.findings if one.severity is not Severity.INFO)
    classes = (f"type {report.kernel_type}", f"complexity {report.complexity}")
    return frozenset([*classes, *findings, *_facts(source)])


def _facts(source: KernelSource) -> Iterator[str]:
    kernels = [function for kernel in source.kernels for function in source.with_callees(kernel)]
    facts = {
        "tl.dot": any(one.calls_of("dot", "dot_scaled") for one in kernels),
        "autotune": any(one.autotune is not None for one in kernels),
        "atomics": any(call.operation.startswith("atomic_") for one in kernels for call in one.calls),
        "block pointers": any(one.calls_of("make_block_ptr", "make_tensor_descriptor") for one in kernels),
        "loop in a kernel": any(one.loops for one in kernels),
        "several kernels": len(source.kernels) > 1,
        "launch in a Python loop": any(launch.loops for launch in source.live_launches),
        "heavy work left to PyTorch": any(True for _ in torch_work(source)),
        "grid of several dimensions": any(_dimensions(source)),
    }
    return (name for name, holds in facts.items() if holds)


def _dimensions(source: KernelSource) -> Iterator[bool]:
    for launch in source.live_launches:
        grid = read_grid(launch, source)
        yield grid is not None and len(grid.axes) > 1
