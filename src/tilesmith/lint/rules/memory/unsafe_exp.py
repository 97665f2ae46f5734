"""Exponentials of raw data that are summed: a softmax that overflows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.operations import literal
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.lint.model.syntax.flow import operands
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.device_flow.reaching_definitions import reaching
from tilesmith.lint.vocabulary import DOTS, EXPONENTIALS, LOADS, words
from tilesmith.records import Finding

MESSAGE = (
    "these exponentials are summed without subtracting the maximum first and overflow from about 88 on: "
    "use tl.exp(x - tl.max(x, axis)), or a running maximum in a loop over tiles"
)
TAMES = words("max maximum minimum clamp sigmoid tanh softmax log log2 cumsum")
"""Whatever went through one of these does not grow without bound, or was meant to be in logarithms."""
LOGARITHMS = words("log log2")
MOST_STEPS = 400


def unsafe_exp(source: KernelSource) -> Iterator[Finding]:
    """exp of loaded data or of a product, added up, and the sum divided by, taken the logarithm of, or stored."""
    for function in source.jit_functions:
        exponentials = {c.node for c in function.calls if c.operation in EXPONENTIALS and _is_raw(c.node, function)}
        if not exponentials:
            continue
        summed = [(total, list(_summed(tile, exponentials, function))) for total, tile in _sums(function)]
        unsafe = {node for total, nodes in summed if nodes and _normalizes(total, function) for node in nodes}
        for node in sorted(unsafe, key=lambda call: call.lineno):
            yield warning("unsafe-exp", node.lineno, MESSAGE)


def _is_raw(call: ast.Call, function: JitFunction) -> bool:
    """Made of data that nothing tames and nothing is subtracted from."""
    power = argument(call, 0, "x")
    if power is None or _is_negated(power, function):
        return False
    parts = set(function.flow.parts_behind(power))
    operations = {c.operation for c in function.calls if c.node in parts}
    operations |= {p.func.attr for p in parts if isinstance(p, ast.Call) and isinstance(p.func, ast.Attribute)}
    if operations & TAMES or not operations & (LOADS | DOTS):
        return False
    return not any(_subtracts_statistic(part, function) for part in parts)


def _is_negated(power: ast.expr, function: JitFunction) -> bool:
    """`exp(-x)`, `exp(-0.5 * d)`, `exp(a - b)`: of a distance, a decay or a ratio."""
    match power:
        case ast.UnaryOp(op=ast.USub()):
            return True
        case ast.BinOp(op=ast.Sub()):
            return literal(power.right) is None
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            number = literal(power.left)
            return (number is not None and number < 0) or _is_negated(power.left, function)
        case ast.Name():
            values = [binding.value for binding in reaching(function.flow, power)]
            return bool(values) and all(isinstance(v, ast.expr) and _is_negated(v, function) for v in values[:1])
    return False


def _subtracts_statistic(node: ast.AST, function: JitFunction) -> bool:
    """`x - lse`: what is taken away is smaller than what it is taken from, so it may be a maximum."""
    parts = operands(node)
    if parts is None or not isinstance(parts.op, ast.Sub) or literal(parts.right) is not None:
        return False
    taken, left = function.value(parts.right).shape, function.value(parts.left).shape
    if taken is None or left is None:
        return True
    return len(left) > 0 and (len(taken) < len(left) or 1 in taken)


def _sums(function: JitFunction) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Every place where something is added up, with what is added."""
    for call in function.calls_of("sum"):
        if (tile := argument(call.node, 0, "input")) is not None:
            yield call.node, tile
    for node in function.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="sum", value=tile)) if function.value(tile).is_block:
                yield node, tile
            case ast.AugAssign(op=ast.Add(), target=ast.Name(id=name)) if _is_carried(name, function):
                yield node, node.value
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(op=ast.Add()) as total):
                if _is_carried(name, function) and name in function.flow.syntax.names(total):
                    yield total, total.right if name in function.flow.syntax.names(total.left) else total.left


def _is_carried(name: str, function: JitFunction) -> bool:
    return any(name in loop.carried for loop in function.loops)


def _summed(tile: ast.AST, exponentials: set[ast.Call], function: JitFunction) -> Iterator[ast.Call]:
    """The exponentials a tile is, through names, casts, selections and scalar factors."""
    waiting, seen = [tile], {tile}
    while waiting and len(seen) < MOST_STEPS:
        node = waiting.pop()
        if isinstance(node, ast.Call) and node in exponentials:
            yield node
            continue
        for inner in _same_size(node, function):
            if inner not in seen:
                seen.add(inner)
                waiting.append(inner)


def _same_size(node: ast.AST, function: JitFunction) -> list[ast.AST]:
    match node:
        case ast.Name():
            return [binding.value for binding in reaching(function.flow, node) if binding.whole]
        case ast.Call(func=ast.Attribute(attr="to" | "cast", value=inner)):
            return [inner, *node.args[:1]]
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, chosen, otherwise]):
            return [chosen, otherwise]
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            pairs = ((node.left, node.right), (node.right, node.left))
            return [side for side, factor in pairs if _is_factor(factor, function)]
        case ast.AugAssign(op=ast.Mult() | ast.Div()) if _is_factor(node.value, function):
            return [node.target]
    return []


def _is_factor(node: ast.expr, function: JitFunction) -> bool:
    """A number or a mask, not data of its own."""
    value = function.value(node)
    return value.shape == () or value.dtype == "int1" or 1 in (value.shape or ())


def _normalizes(total: ast.AST, function: JitFunction) -> bool:
    """The sum ends below a fraction, in a logarithm, or as it is in memory."""
    flow = function.flow
    for node in function.nodes:
        parts = operands(node)
        divides = parts is not None and isinstance(parts.op, ast.Div)
        if parts is not None and divides and total in flow.parts_behind(parts.right):
            return True
    for call in function.calls:
        if call.operation in LOGARITHMS and total in flow.parts_behind(*call.node.args):
            return True
    stored = [argument(call.node, 1, "value") for call in function.calls_of("store")]
    return any(value is not None and _is_alone(value, total, function) for value in stored)


def _is_alone(value: ast.expr, total: ast.AST, function: JitFunction) -> bool:
    """Stored without further arithmetic."""
    if value is total:
        return True
    if isinstance(value, ast.Name):
        return any(binding.value is total for binding in reaching(function.flow, value))
    match value:
        case ast.Call(func=ast.Attribute(attr="to", value=inner)):
            return _is_alone(inner, total, function)
    return False
