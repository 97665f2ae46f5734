"""Where one value is scaled by another: products, quotients, differences, and functions that do it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.source_cache import cached_per_source
from tilesmith.lint.model.syntax.flow import operands
from tilesmith.lint.structure.addresses.buffers import helper_calls
from tilesmith.lint.structure.reductions.reduction_sites import stored_values
from tilesmith.lint.vocabulary import words

DIVISIONS = words("fdiv div_rn")
DEEPEST_CALL = 3


class Scaling(NamedTuple):
    node: ast.AST
    block: ast.expr
    """What may be the data."""
    scale: ast.expr


def scalings(function: JitFunction, source: KernelSource) -> Iterator[Scaling]:
    """Of a function itself and of the functions it hands both values to."""
    yield from _own(function)
    yield from _handed_over(function, source, DEEPEST_CALL)


def _own(function: JitFunction) -> Iterator[Scaling]:
    for node in function.nodes:
        found = operands(node)
        if found is not None and isinstance(found.op, (ast.Div, ast.Mult, ast.Sub)):
            yield Scaling(node, found.left, found.right)
            if isinstance(found.op, ast.Mult):
                yield Scaling(node, found.right, found.left)
    for call in function.calls_of(*DIVISIONS):
        if len(call.node.args) >= 2:
            yield Scaling(call.node, call.node.args[0], call.node.args[1])


def _handed_over(function: JitFunction, source: KernelSource, depth: int) -> Iterator[Scaling]:
    for call, callee in helper_calls(source, function):
        given = dict(zip(callee.params, call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        for block, scale in _scaled_params(callee, source, depth):
            if block in given and scale in given:
                yield Scaling(call, given[block], given[scale])


@cached_per_source
def _scaled_params(callee: JitFunction, source: KernelSource, depth: int) -> frozenset[tuple[str, str]]:
    """Which parameter is scaled by which, on the way to what the function hands back."""
    if not depth:
        return frozenset()
    kept = set(callee.flow.parts_behind(*stored_values(callee)))
    inner = [*_own(callee), *_handed_over(callee, source, depth - 1)]
    used = [found for found in inner if found.node in kept and not _subtracts(found.node)]
    params = frozenset(callee.params) - callee.constexprs
    return frozenset(
        (block, scale)
        for found in used
        for block in callee.flow.origins(found.block) & params
        for scale in callee.flow.origins(found.scale) & params
        if block != scale
    )


def _subtracts(node: ast.AST) -> bool:
    found = operands(node)
    return found is not None and isinstance(found.op, ast.Sub)
