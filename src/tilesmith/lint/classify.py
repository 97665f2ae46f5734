"""What kind of kernel a candidate is, judged by structure and never by names.

Tuning stages ask this first: a persistent kernel or a delicate algorithm loses when its tiles move.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tilesmith.lint.host_loops import find_time_loops
from tilesmith.lint.loops import KernelLoop, find_loops
from tilesmith.lint.recurrence import is_recurrent, is_sequential_scan, keeps_extreme
from tilesmith.lint.source import JitFunction, KernelSource
from tilesmith.lint.statistics import scales_by_statistic
from tilesmith.lint.torch_work import torch_work
from tilesmith.lint.vocabulary import DOTS, EXPONENTIALS, REDUCTIONS, SCANS
from tilesmith.lint.windows import slides_window

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
LARGEST_KERNEL_NODES = 20_000
DEEPEST_KERNEL = 100


@dataclass(frozen=True)
class Classification:
    kernel_type: str
    complexity: str


def classify(source: KernelSource) -> Classification:
    """The type by what dominates; the complexity by the most delicate kernel inside."""
    launches = [launch for launch in source.launches if source.is_live(launch)] or source.launches
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
        looped = any(isinstance(n, (ast.For, ast.While)) for part in parts for n in ast.walk(part.node))
        simple = COMPLEXITY.get(dominant, "medium" if looped else "low")
    return "high" if len(kernels) >= MANY_KERNELS and simple == "medium" else simple


def _kernel_type(kernel: JitFunction, source: KernelSource) -> str:
    """The type of one kernel together with the jit functions it calls."""
    parts = source.with_callees(kernel)
    operations = {call.operation for part in parts for call in part.calls} | _tensor_methods(parts)
    small = [part for part in parts if _is_readable(part)]
    loops = [find_loops(part) for part in small]
    every_loop = [loop for found in loops for loop in found]
    if operations & DOTS and _is_attention(operations, every_loop, source):
        return "attention"
    if any(is_recurrent(loop, source) for loop in every_loop):
        return "persistent_recurrent"
    if any(map(slides_window, small, loops)):
        return "convolution"
    if operations & DOTS:
        return "gemm"
    if operations & SCANS or any(is_sequential_scan(loop, source) for loop in every_loop):
        return "scan"
    return _reduced_type(operations, small)


def _is_attention(operations: set[str], loops: list[KernelLoop], source: KernelSource) -> bool:
    """Products, exponentials and a maximum: carried by a loop, or over a whole row at once."""
    if not operations & EXPONENTIALS:
        return False
    running = any(keeps_extreme(loop, source) for loop in loops)
    return running or ({"max", "sum"} <= operations and "dot" in operations)


def _reduced_type(operations: set[str], parts: list[JitFunction]) -> str:
    if not operations & REDUCTIONS:
        return "elementwise"
    if "rsqrt" in operations or any(scales_by_statistic(part) for part in parts):
        return "normalization"
    return "reduction"


def _tensor_methods(parts: tuple[JitFunction, ...]) -> set[str]:
    """`x.sum(0)` is a reduction as much as `tl.sum(x, 0)`."""
    calls = [node.func for part in parts for node in ast.walk(part.node) if isinstance(node, ast.Call)]
    methods = {func.attr for func in calls if isinstance(func, ast.Attribute)}
    return methods & {"sum", "argmax", "argmin", "cumsum", "cumprod"}


def _is_readable(part: JitFunction) -> bool:
    """Small and flat enough to follow its data; otherwise its operations alone decide."""
    count = 0
    waiting: list[tuple[ast.AST, int]] = [(part.node, 0)]
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if count > LARGEST_KERNEL_NODES or depth > DEEPEST_KERNEL:
            return False
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node)]
    return True
