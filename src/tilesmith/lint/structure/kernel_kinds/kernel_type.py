"""What kind of work one kernel does, together with the jit functions it calls."""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import JitFunction, KernelSource, cached_per_source
from tilesmith.lint.structure.device_flow.value_flow import Dependence, load_calls
from tilesmith.lint.structure.kernel_kinds.convolution import slides_window, weighs_last_inputs
from tilesmith.lint.structure.kernel_kinds.normalization import scales_by_statistic
from tilesmith.lint.structure.kernel_kinds.synchronization import waits_for_others
from tilesmith.lint.structure.recurrence.time_loops import is_recurrent, is_sequential_scan, keeps_extreme
from tilesmith.lint.structure.reductions.contractions import contractions
from tilesmith.lint.structure.reductions.matrix_products import (
    applies_matrix,
    multiplies_matrices,
    multiplies_matrix_and_vector,
    sums_by_triangle,
)
from tilesmith.lint.structure.reductions.reduction_sites import reduces
from tilesmith.lint.vocabulary import DOTS, EXPONENTIALS, REDUCTIONS, SCANS


def attends(parts: tuple[JitFunction, ...], source: KernelSource) -> bool:
    """In one function, or with a running maximum where it is spread over several."""
    if not any(part.calls_of(*EXPONENTIALS) for part in parts):
        return False
    if any(_attends(part, source) for part in parts):
        return True
    dots = sum(len(part.calls_of(*DOTS)) for part in parts)
    return dots > 1 and any(keeps_extreme(loop, source) for part in parts for loop in part.loops)


def _attends(function: JitFunction, source: KernelSource) -> bool:
    products = contractions(function, source)
    exponentials = [call.node for call in function.calls_of(*EXPONENTIALS)]
    loads = load_calls(function, source)
    behind = Dependence(function.flow, [*exponentials, *(product.node for product in products)], loads)
    for exponential in exponentials:
        scores = behind.behind(*exponential.args)
        if not any(product.node in scores for product in products) or not _is_weight(exponential, function):
            continue
        for product in products:
            weights = [factor for factor in product.factors if exponential in behind.behind(factor)]
            if weights and len(weights) < len(product.factors) and product.node not in scores:
                return True
    return False


def _is_weight(exponential: ast.Call, function: JitFunction) -> bool:
    """Softmax subtracts before it takes the exponential, or adds them up afterwards; a sigmoid does neither."""
    given = exponential.args[0] if exponential.args else None
    while isinstance(given, ast.Name):
        values = function.flow.values_of(given.id)
        given = values[0] if len(values) == 1 and isinstance(values[0], ast.expr) else None
    if isinstance(given, ast.BinOp) and any(
        isinstance(node.op, ast.Sub) for node in ast.walk(given) if isinstance(node, ast.BinOp)
    ):
        return True
    summed = Dependence(function.flow, [exponential], ())
    return any(exponential in summed.behind(*call.node.args[:1]) for call in function.calls_of(*REDUCTIONS))


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
