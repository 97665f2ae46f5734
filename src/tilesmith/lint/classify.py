"""What kind of kernel a candidate is, judged by structure and never by names.

Tuning stages ask this first: a persistent kernel or a delicate algorithm loses when its tiles move.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.structure.host_code.torch_work import torch_work
from tilesmith.lint.structure.host_loops.launch_loops import find_time_loops
from tilesmith.lint.structure.kernel_kinds.kernel_type import kernel_complexity, kernel_type
from tilesmith.lint.structure.kernel_kinds.normalization import normalizes_in_steps
from tilesmith.lint.structure.launches.launch_count import max_kernels_on_one_path

KERNEL_RANK = (
    "persistent_recurrent",
    "attention",
    "convolution",
    "gemm",
    "scan",
    "normalization",
    "reduction",
    "elementwise",
)
"""Among the kernels of one file the first of these that occurs names the file."""
COMPLEXITY_RANK = ("persistent", "high", "medium", "low")
MANY_KERNELS = 3
"""So many of medium complexity make a file of high complexity."""
MOST_KERNELS = 100
"""Followed in one file; more than that nobody wrote by hand."""


@dataclass(frozen=True)
class Classification:
    kernel_type: str
    complexity: str


def classify(source: KernelSource) -> Classification:
    """The type by what dominates; the complexity by the most delicate kernel inside."""
    if not source.live_launches:
        return Classification("no_triton", "low")
    kernels = (source.kernels or _unnamed(source))[-MOST_KERNELS:]
    types = {kernel_type(kernel, source) for kernel in kernels} or {"elementwise"}
    first = next(kind for kind in KERNEL_RANK if kind in types)
    kind = _file_type("normalization" if first == "reduction" and normalizes_in_steps(source) else first, source)
    return Classification(kind, _complexity(kind, kernels, source))


def _unnamed(source: KernelSource) -> tuple[JitFunction, ...]:
    """Where no launch says which kernel it starts, every one that no other kernel calls."""
    return tuple(function for function in source.jit_functions if function.name not in source.called_names)


def _file_type(dominant: str, source: KernelSource) -> str:
    """How kernels are used can matter more than what they are."""
    if find_time_loops(source):
        return "recurrent_host_loop"
    if dominant != "persistent_recurrent" and any(True for _ in torch_work(source)):
        return "hybrid"
    return dominant


def _complexity(kind: str, kernels: tuple[JitFunction, ...], source: KernelSource) -> str:
    if kind == "recurrent_host_loop":
        return "high"
    found = {kernel: kernel_complexity(kernel, source) for kernel in kernels}
    most = next((level for level in COMPLEXITY_RANK if level in found.values()), "low")
    medium = [kernel for kernel, level in found.items() if level == "medium"]
    many = len(medium) >= MANY_KERNELS and max_kernels_on_one_path(medium, source) >= MANY_KERNELS
    return "high" if most == "medium" and many else most
