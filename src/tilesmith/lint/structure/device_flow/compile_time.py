"""Is a value, where the compiler wants a constant, certainly known only at run time?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.values import PARAMETER, Dim, ValueKind
from tilesmith.lint.model.sizes.possible_numbers import device_numbers, host_numbers, parameter_numbers
from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource, LaunchSite
from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.syntax import parse_expression

LONGEST_CHAIN = 8
SHAPE_AT = {"zeros": 0, "full": 0, "reshape": 1, "view": 1, "broadcast_to": 1}
"""The position of the shape among the arguments."""
CONSTEXPR = "triton.language.constexpr"
Numbers = frozenset[int] | None


def is_runtime(
    source: KernelSource, function: JitFunction, value: ast.AST | None, depth: int = LONGEST_CHAIN
) -> bool:
    """Made from a tensor, from a plain parameter, or bound to a plain name: `HALF = BLOCK // 2` is no constant."""
    if value is None or depth == 0:
        return False
    if function.value(value).kind is ValueKind.TENSOR:
        return True
    match value:
        case ast.Name(id=name) if name in function.params:
            plain = name not in function.constexprs and function.value(value) == PARAMETER
            return plain and is_runtime_parameter(source, function, name)
        case ast.Name(id=name):
            return _is_bound_at_runtime(source, function, name, depth)
        case ast.BinOp():
            return any(is_runtime(source, function, side, depth - 1) for side in (value.left, value.right))
        case ast.UnaryOp():
            return is_runtime(source, function, value.operand, depth - 1)
    return False


def may_be_one(source: KernelSource, function: JitFunction, value: ast.expr) -> bool:
    """Made from a parameter that nobody knows the value of: where a launch passes 1, it is a constant."""
    if function.value(value).kind is ValueKind.TENSOR:
        return False
    names = [part.id for part in ast.walk(value) if isinstance(part, ast.Name) and part.id in function.params]
    return any(
        parameter_numbers(source, function, name) is None and not _counts(source, function, name) for name in names
    )


def _counts(source: KernelSource, function: JitFunction, name: str) -> bool:
    """Every launch passes the count of a tensor's elements, which nobody makes 1."""
    counting = []
    for launch in source.launches_of(function):
        passed, host = (launch.bound_to(function) or {}).get(name), source.host_of(launch)
        parts = [] if passed is None else host.flow.parts_behind(passed) if host else source.syntax.inside(passed)
        counting.append(any(isinstance(part, ast.Attribute) and part.attr == "numel" for part in parts))
    return bool(counting) and all(counting)


def is_fraction(value: ast.AST) -> bool:
    """Certainly no whole number, whatever its operands: `n / BLOCK`, `0.5`."""
    match value:
        case ast.Constant(value=float()) | ast.BinOp(op=ast.Div()):
            return True
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()):
            return is_fraction(value.left) or is_fraction(value.right)
    return False


def _is_bound_at_runtime(source: KernelSource, function: JitFunction, name: str, depth: int) -> bool:
    """Every binding is of something known at run time only, or a plain one, which turns constants into that."""
    bindings = function.flow.by_name.get(name, ())
    if not bindings or not all(binding.whole for binding in bindings):
        return False
    return all(
        is_runtime(source, function, b.value, depth - 1)
        or (function.value(b.value).kind is ValueKind.STATIC and not _is_annotated(source, b.value))
        for b in bindings
    )


def _is_annotated(source: KernelSource, value: ast.AST) -> bool:
    return isinstance(source.syntax.parents.get(value), ast.AnnAssign)


def is_runtime_parameter(source: KernelSource, function: JitFunction, name: str) -> bool:
    """A parameter that stays a value; Triton makes a constant of an argument that is 1, None or a constexpr."""
    launches = [launch for launch in source.launches if function.name in launch.kernels]
    return bool(launches) and not any(_may_pass_constant(source, function, launch, name) for launch in launches)


def _may_pass_constant(source: KernelSource, function: JitFunction, launch: LaunchSite, name: str) -> bool:
    bound = launch.bound_to(function) if launch.direct else None
    passed = None if bound is None else bound.get(name)
    if passed is None or isinstance(passed, ast.Constant):
        return True
    host = source.host_of(launch)
    numbers = host_numbers(source, host, passed)
    return (numbers is not None and 1 in numbers) or _may_be_constexpr(source, host, passed)


def _may_be_constexpr(source: KernelSource, host: HostCode | None, passed: ast.expr) -> bool:
    """Host code wraps something in `tl.constexpr(...)`, and what is passed has to do with it."""
    made = [n for n, dotted in source.names.dotted.items() if dotted == CONSTEXPR and _is_called(source, n)]
    if not made:
        return False
    around = [part for node in made for part in source.syntax.ancestors(node)]
    bound = {name for part in around if isinstance(part, (ast.Assign, ast.AnnAssign)) for name in _bound(part)}
    parts = [*source.syntax.inside(passed)] if host is None else host.flow.parts_behind(passed)
    mentioned = {part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in parts}
    return bool(mentioned & bound) or any(part in made for part in parts)


def _is_called(source: KernelSource, node: ast.AST) -> bool:
    parent = source.syntax.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _bound(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [
        t.attr if isinstance(t, ast.Attribute) else t.id
        for t in targets
        if isinstance(t, (ast.Attribute, ast.Name))
    ]


def sizes(source: KernelSource, function: JitFunction, dim: Dim) -> Numbers:
    """Every number a side of a block can be; None when some are unknown."""
    if dim is None:
        return None
    if isinstance(dim, int):
        return frozenset({dim})
    try:
        size = parse_expression(dim)
    except SyntaxError:
        return None
    return device_numbers(source, function, size)


def shape_sides(function: JitFunction) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Each side in the shapes that a function's calls ask for."""
    for call in function.calls:
        if call.name in SHAPE_AT:
            shape = argument(call.node, SHAPE_AT[call.name], "shape")
            if isinstance(shape, (ast.Tuple, ast.List)):
                for side in shape.elts:
                    yield call.node, side


def is_launched(source: KernelSource, function: JitFunction) -> bool:
    """Certainly started by the host, or called by one that is: then Triton has read the whole of it."""
    return function.node.body[0] in source.surely_compiled


def is_device_code(source: KernelSource, node: ast.AST) -> bool:
    """Inside the body of a jit function; its decorators and annotations are the host's."""
    around = [f for f in source.jit_functions if source.syntax.contains(f.node, node)]
    return any(source.syntax.contains(part, node) for function in around for part in function.node.body)
