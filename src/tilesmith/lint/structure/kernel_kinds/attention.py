"""Attention by structure: scores from products, exponentials of them, and values weighted with those."""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.structure.device_flow.dependence import Dependence, load_calls
from tilesmith.lint.structure.recurrence.time_loops import keeps_extreme
from tilesmith.lint.structure.reductions.contractions import contractions
from tilesmith.lint.vocabulary import DOTS, EXPONENTIALS, REDUCTIONS


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
