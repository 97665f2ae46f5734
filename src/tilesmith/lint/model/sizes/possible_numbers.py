"""Which numbers a compile-time size can be: from the launches, the autotuner's configs and the defaults."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from itertools import product

from tilesmith.lint.model.source import (
    HostCode,
    JitFunction,
    KernelSource,
    LaunchSite,
    cached_per_source,
)
from tilesmith.lint.model.syntax.call_arguments import FunctionNode

Numbers = frozenset[int] | None
"""Every value it can have; None when some are unknown."""
MOST_NUMBERS = 64
DEEPEST_LOOK = 12
LARGEST_NUMBER = 1 << 62
ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@cached_per_source
def parameter_numbers(source: KernelSource, function: JitFunction, name: str) -> Numbers:
    """The values a kernel's parameter can have over all live launches."""
    launches = source.launches_of(function)
    if not launches or any(len(source.jit_named(kernel)) != 1 for x in launches for kernel in x.kernels):
        return None
    return _union(_launch_numbers(source, function, launch, name) for launch in launches)


def device_numbers(
    source: KernelSource, function: JitFunction, size: ast.expr, depth: int = DEEPEST_LOOK
) -> Numbers:
    """The values a compile-time expression of a launched kernel can have."""

    def look_up(name: str) -> Numbers:
        values = function.flow.values_of(name)
        if name in function.params:
            return None if values else parameter_numbers(source, function, name)
        if name in function.flow.origins_of(name):
            return None
        if values:
            return _union(_numbers(value, look_up, depth - 1) for value in values)
        return None if _is_hidden(source, function.node, name) else module_numbers(source, name)

    return _numbers(size, look_up, depth)


def _is_hidden(source: KernelSource, function: FunctionNode, name: str) -> bool:
    """A parameter of the function, or a name of one around it: then the module's is out of sight."""
    scope = source.names.scope_of[function.body[0]]
    while scope.parent is not None:
        if name in scope.bindings and not scope.is_class:
            return True
        scope = scope.parent
    return False


def host_numbers(source: KernelSource, host: HostCode | None, size: ast.expr, depth: int = DEEPEST_LOOK) -> Numbers:
    """The values an expression of host code can have, as far as literals reach."""

    def look_up(name: str) -> Numbers:
        if "." in name:
            return attribute_numbers(source, host, name, depth - 1)
        if host is not None:
            if name in host.params or name in host.flow.origins_of(name):
                return None
            if values := host.flow.values_of(name):
                whole = all(binding.whole for binding in host.flow.by_name[name])
                return _union(_numbers(v, look_up, depth - 1) for v in values) if whole and depth else None
            if _is_hidden(source, host.node, name):
                return None
        return module_numbers(source, name)

    return _numbers(size, look_up, depth)


def attribute_numbers(source: KernelSource, host: HostCode | None, dotted: str, depth: int) -> Numbers:
    """Of `self.BLOCK` or `ModelNew.BLOCK`: the class's own assignment and those its methods make."""
    first, _, attribute = dotted.partition(".")
    if host is None or host.owner is None or first not in ("self", "cls", host.owner.name) or depth <= 0:
        return None
    own = [(None, value) for name, value in _assignments(host.owner.body) if name == attribute]
    hosts = [other for other in source.hosts if other.owner is host.owner]
    made = [(h, value) for h in hosts for value in _assigned_to_self(source, h, attribute)]
    if len(made) != _times_stored(source, attribute):
        return None
    return _union(host_numbers(source, where, value, depth) for where, value in [*own, *made])


def _assigned_to_self(source: KernelSource, host: HostCode, attribute: str) -> list[ast.expr]:
    """Values of `self.attribute = ...`."""
    return [
        node.value
        for node in source.syntax.of_type(ast.Assign, host.node)
        if any(isinstance(t, ast.Attribute) and t.attr == attribute for t in node.targets)
    ]


def _times_stored(source: KernelSource, attribute: str) -> int:
    """However it is stored, on whatever object: what is not read as a plain assignment makes the value unknown."""
    nodes = source.syntax.nodes
    return sum(
        type(node) is ast.Attribute and node.attr == attribute and isinstance(node.ctx, ast.Store) for node in nodes
    )


def module_numbers(source: KernelSource, name: str, depth: int = 4) -> Numbers:
    """Of a name assigned at module level, directly or as `tl.constexpr(64)`."""
    values = [value for found, value in _assignments(source.syntax.tree.body) if found == name]
    if depth == 0 or len(values) != len(source.names.module.bindings.get(name, ())):
        return None
    return _union(_numbers(value, lambda n: module_numbers(source, n, depth - 1), depth) for value in values)


def _assignments(statements: Iterable[ast.stmt]) -> list[tuple[str, ast.expr]]:
    found = []
    for statement in statements:
        if isinstance(statement, ast.Assign):
            found += [(t.id, statement.value) for t in statement.targets if isinstance(t, ast.Name)]
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            found.append((statement.target.id, statement.value))
    return found


def _launch_numbers(source: KernelSource, function: JitFunction, launch: LaunchSite, name: str) -> Numbers:
    if not launch.direct or function.heuristics is None or name in function.heuristics:
        return None
    bound = launch.bound_to(function)
    if bound is None:
        return None
    if name in bound:
        return host_numbers(source, source.host_of(launch), bound[name])
    tuned = function.autotune
    if tuned is not None and (name not in function.defaults or name in tuned.meta or not tuned.complete):
        if not tuned.complete:
            return None
        values = [config.meta.get(name) for config in tuned.configs]
        return _union(None if v is None else host_numbers(source, None, v) for v in values)
    default = function.defaults.get(name)
    return None if default is None else host_numbers(source, None, default)


def _numbers(size: ast.AST, look_up: Callable[[str], Numbers], depth: int) -> Numbers:
    if depth <= 0:
        return None
    match size:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() as number):
            return frozenset({number})
        case ast.Name(id=name):
            return look_up(name)
        case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
            return look_up(f"{owner}.{attribute}")
        case ast.UnaryOp(op=ast.USub()):
            inner = _numbers(size.operand, look_up, depth - 1)
            return None if inner is None else frozenset(-number for number in inner)
        case ast.IfExp():
            return _union(_numbers(part, look_up, depth - 1) for part in (size.body, size.orelse))
        case ast.BinOp():
            sides = [_numbers(side, look_up, depth - 1) for side in (size.left, size.right)]
            return _calculated(size.op, *sides)
        case ast.Call():
            return _called_numbers(size, look_up, depth)
    return None


def _called_numbers(call: ast.Call, look_up: Callable[[str], Numbers], depth: int) -> Numbers:
    match call:
        case ast.Call(func=ast.Attribute(attr="constexpr"), args=[inner_size]):
            return _numbers(inner_size, look_up, depth - 1)
        case ast.Call(func=ast.Attribute(attr="next_power_of_2"), args=[inner_size]):
            inner = _numbers(inner_size, look_up, depth - 1)
            return None if inner is None else frozenset(1 << max(number - 1, 0).bit_length() for number in inner)
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[left, right], keywords=[]):
            sides = [_numbers(side, look_up, depth - 1) for side in (left, right)]
            return _combined(min if name == "min" else max, *sides)
        case ast.Call(func=ast.Attribute(attr="cdiv"), args=[left, right], keywords=[]):
            sides = [_numbers(side, look_up, depth - 1) for side in (left, right)]
            return None if sides[1] is None or 0 in sides[1] else _combined(lambda a, b: -(-a // b), *sides)
    return None


def _calculated(op: ast.operator, left: Numbers, right: Numbers) -> Numbers:
    calculate = ARITHMETIC.get(type(op))
    if calculate is None or (isinstance(op, (ast.FloorDiv, ast.Mod)) and (right is None or 0 in right)):
        return None
    return _combined(calculate, left, right)


def _combined(calculate: Callable[[int, int], int], left: Numbers, right: Numbers) -> Numbers:
    if left is None or right is None or len(left) * len(right) > MOST_NUMBERS:
        return None
    found = frozenset(calculate(a, b) for a, b in product(left, right))
    return found if all(abs(number) < LARGEST_NUMBER for number in found) else None


def _union(sets: Iterable[Numbers]) -> Numbers:
    every: set[int] = set()
    for numbers in sets:
        if numbers is None:
            return None
        every |= numbers
    return frozenset(every) if 0 < len(every) <= MOST_NUMBERS else None
