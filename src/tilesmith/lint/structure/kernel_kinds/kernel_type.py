"""What kind of work one kernel does, together with the jit functions it calls."""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.source_cache import cached_per_source
from tilesmith.lint.structure.kernel_kinds.attention import attends
from tilesmith.lint.structure.kernel_kinds.convolution import slides_window
from tilesmith.lint.structure.kernel_kinds.convolution_in_registers import weighs_last_inputs
from tilesmith.lint.structure.kernel_kinds.normalization import scales_by_statistic
from tilesmith.lint.structure.kernel_kinds.synchronization import waits_for_others
from tilesmith.lint.structure.recurrence.time_loops import is_recurrent, is_sequential_scan
from tilesmith.lint.structure.reductions.matrix_products import (
    applies_matrix,
    multiplies_matrices,
    multiplies_matrix_and_vector,
    sums_by_triangle,
)
from tilesmith.lint.structure.reductions.reduction_sites import reduces
from tilesmith.lint.vocabulary import DOTS, SCANS

COMPLEXITY = {
    "persistent_recurrent": "persistent",
    "attention": "high",
    "scan": "high",
    "convolution": "medium",
    "gemm": "medium",
    "elementwise": "low",
}
SCAN_METHODS = frozenset({"cumsum", "cumprod", "associative_scan"})


@cached_per_source
def kernel_type(kernel: JitFunction, source: KernelSource) -> str:
    """The most demanding thing it does; what is nested too deeply to follow is known by its operations alone."""
    parts = source.with_callees(kernel)
    try:
        return _followed_type(parts, source)
    except RecursionError:
        return "gemm" if any(part.calls_of(*DOTS) for part in parts) else "elementwise"


def _followed_type(parts: tuple[JitFunction, ...], source: KernelSource) -> str:
    loops = [loop for part in parts for loop in part.loops]
    if attends(parts, source):
        return "attention"
    if any(is_recurrent(loop, source) for loop in loops):
        return "persistent_recurrent"
    if any(slides_window(part, source) or weighs_last_inputs(part, source) for part in parts):
        return "convolution"
    if any(multiplies_matrices(part, source) for part in parts):
        return "gemm"
    if any(_scans(part) or sums_by_triangle(part, source) for part in parts) or any(
        is_sequential_scan(loop, source) for loop in loops
    ):
        return "scan"
    return _plain_type(parts, source)


def _plain_type(parts: tuple[JitFunction, ...], source: KernelSource) -> str:
    if any(applies_matrix(part, source) for part in parts):
        return "gemm"
    if any(part.calls_of("softmax") or scales_by_statistic(part, source) for part in parts):
        return "normalization"
    if any(multiplies_matrix_and_vector(part, source) for part in parts):
        return "gemm"
    return "reduction" if reduces(parts, source) else "elementwise"


def _scans(part: JitFunction) -> bool:
    if part.calls_of(*SCANS):
        return True
    calls = [node.func for node in part.nodes if isinstance(node, ast.Call)]
    return any(isinstance(called, ast.Attribute) and called.attr in SCAN_METHODS for called in calls)


def kernel_complexity(kernel: JitFunction, source: KernelSource) -> str:
    """How much can break when its tiles or its grid move."""
    parts = source.with_callees(kernel)
    kind = kernel_type(kernel, source)
    if kind != "persistent_recurrent" and waits_for_others(parts):
        return "high"
    looped = any(part.loops for part in parts)
    return COMPLEXITY.get(kind, "medium" if looped else "low")
