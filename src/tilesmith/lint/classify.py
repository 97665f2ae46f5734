"""What kind of kernel a candidate is, judged by structure and never by names.

Tuning stages ask this first: a persistent kernel or a delicate algorithm loses when its tiles move.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.structure.host_loops import find_time_loops
from tilesmith.lint.structure.recurrence import is_recurrent, is_sequential_scan, keeps_extreme
from tilesmith.lint.structure.statistics import scales_by_statistic
from tilesmith.lint.structure.torch_work import torch_work
from tilesmith.lint.structure.windows import slides_window
from tilesmith.lint.vocabulary import DOTS, EXPONENTIALS, REDUCTIONS, SCANS

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
COMPLEXITY = {
    "persistent_recurrent": "persistent",
    "attention": "high",
    "scan": "high",
    "recurrent_host_loop": "high",
    "convolution": "medium",
    "gemm": "medium",
}
MANY_KERNELS = 3
MOST_KERNELS = 100
"""Followed in one file; more than that nobody wrote by hand."""


@dataclass(frozen=True)
class Classification:
    kernel_type: str
    complexity: str


def classify(source: KernelSource) -> Classification:
    """The type by what dominates; the complexity by the most delicate kernel inside."""
    launches = source.live_launches or source.launches
    if not launches:
        return Classification("no_triton", "low")
    started = {name for launch in launches for name in launch.kernels}
    kernels = [function for function in source.jit_functions if function.name in started][-MOST_KERNELS:]
    types = {_kernel_type(kernel, source) for kernel in kernels} or {"elementwise"}
    dominant = next(kind for kind in KERNEL_RANK if kind in types)
    kind = _file_type(dominant, source)
    return Classification(kind, _complexity(kind, dominant, kernels, source))


def _file_type(dominant: str, source: KernelSource) -> str:
    """How kernels are used can matter more than what they are."""
    if any(loop.carries_state for loop in find_time_loops(source)):
        return "recurrent_host_loop"
    if dominant != "persistent_recurrent" and any(True for _ in torch_work(source)):
        return "hybrid"
    return dominant


def _complexity(kind: str, dominant: str, kernels: list[JitFunction], source: KernelSource) -> str:
    if kind in COMPLEXITY:
        simple = COMPLEXITY[kind]
    else:
        parts = [part for kernel in kernels for part in source.with_callees(kernel)]
        looped = any(part.loops for part in parts)
        simple = COMPLEXITY.get(dominant, "medium" if looped else "low")
    return "high" if len(kernels) >= MANY_KERNELS and simple == "medium" else simple


def _kernel_type(kernel: JitFunction, source: KernelSource) -> str:
    """The type of one kernel together with the jit functions it calls."""
    parts = source.with_callees(kernel)
    operations = {call.operation for part in parts for call in part.calls} | _tensor_methods(parts)
    every_loop = [loop for part in parts for loop in part.loops]
    if operations & DOTS and _is_attention(operations, every_loop, source):
        return "attention"
    if any(is_recurrent(loop, source) for loop in every_loop):
        return "persistent_recurrent"
    if any(slides_window(part) for part in parts):
        return "convolution"
    if operations & DOTS:
        return "gemm"
    if operations & SCANS or any(is_sequential_scan(loop, source) for loop in every_loop):
        return "scan"
    return _reduced_type(operations, parts)


def _is_attention(operations: set[str], loops: list[KernelLoop], source: KernelSource) -> bool:
    """Products, exponentials and a maximum: carried by a loop, or over a whole row at once."""
    if not operations & EXPONENTIALS:
        return False
    running = any(keeps_extreme(loop, source) for loop in loops)
    return running or ({"max", "sum"} <= operations and "dot" in operations)


def _reduced_type(operations: set[str], parts: tuple[JitFunction, ...]) -> str:
    if not operations & REDUCTIONS:
        return "elementwise"
    if "rsqrt" in operations or any(scales_by_statistic(part) for part in parts):
        return "normalization"
    return "reduction"


def _tensor_methods(parts: tuple[JitFunction, ...]) -> set[str]:
    """`x.sum(0)` is a reduction as much as `tl.sum(x, 0)`."""
    calls = [node.func for part in parts for node in part.nodes if isinstance(node, ast.Call)]
    methods = {func.attr for func in calls if isinstance(func, ast.Attribute)}
    return methods & {"sum", "argmax", "argmin", "cumsum", "cumprod"}
