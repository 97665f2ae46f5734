"""Strides taken from one tensor and used for another of a different shape or layout."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.addresses.accesses import KernelAccess, by_kernel, expansion_of
from tilesmith.lint.structure.addresses.expansion import AddressExpansion
from tilesmith.lint.structure.host_code.host_tensors import HostTensors
from tilesmith.lint.structure.launches.launch_arguments import MOST_LAUNCHES
from tilesmith.records import Finding


class TensorStride(NamedTuple):
    """`tensor.stride(axis)`."""

    tensor: ast.expr
    axis: int


def stride_reuse(source: KernelSource) -> Iterator[Finding]:
    """Once per tensor and launch, at the first stride that cannot be its own."""
    expansion = expansion_of(source)
    for accesses in by_kernel(source):
        kernel = accesses[0].frame.kernel
        scales = _scales(accesses, expansion)
        for launch in source.launches_of(kernel)[:MOST_LAUNCHES]:
            bound, host = launch.bound_to(kernel), source.host_of(launch)
            if bound is not None and host is not None and launch.direct:
                yield from _judge(source, host, bound, scales)


def _scales(accesses: list[KernelAccess], expansion: AddressExpansion) -> Mapping[str, list[str]]:
    """For each pointer parameter the plain parameters that its addresses are scaled with.

    An address that may start from one of several pointers says nothing about any of them.
    """
    found: dict[str, list[str]] = {}
    pointers = {name for access in accesses for name in access.base(expansion)}
    choices = {function: _choices(function) for function in {access.frame.function for access in accesses}}
    for access in accesses:
        kernel: JitFunction = access.frame.kernel
        plain = [name for name in kernel.params if name not in kernel.constexprs]
        chosen = [name for name in access.base_parameters(expansion) if name in pointers]
        function = access.frame.function
        certain = len(chosen) == 1 and not function.flow.origins(access.pointer) & choices[function]
        for pointer in chosen if certain else []:
            for term in expansion.terms(access.pointer, access.frame):
                names = [p.node.id for p in term.factors if isinstance(p.node, ast.Name) and p.frame.caller is None]
                if len(term.factors) > 1:
                    found.setdefault(pointer, []).extend(name for name in names if name in plain)
    return {pointer: list(dict.fromkeys(names)) for pointer, names in found.items()}


def _choices(function: JitFunction) -> frozenset[str]:
    """Names that are assigned more than once without growing from themselves."""
    flow = function.flow
    found = []
    for name, bindings in flow.by_name.items():
        starts = (b for b in bindings if name not in flow.syntax.names(b.value))
        if next(starts, None) is not None and next(starts, None) is not None:
            found.append(name)
    return frozenset(found)


def _judge(
    source: KernelSource, host: HostCode, bound: Mapping[str, ast.expr], scales: Mapping[str, list[str]]
) -> Iterator[Finding]:
    tensors = HostTensors(source, host)
    for pointer, names in scales.items():
        tensor = bound.get(pointer)
        if tensor is None:
            continue
        for name in names:
            stride = _stride(bound[name], host) if name in bound else None
            if stride is not None and _differs(tensor, stride, tensors):
                yield warning("stride-reuse", bound[name].lineno, _message(tensor, stride, bound[name]))
                break


def _stride(node: ast.expr, host: HostCode) -> TensorStride | None:
    match node:
        case ast.Call(func=ast.Attribute(attr="stride", value=tensor), args=[axis]):
            return _numbered(tensor, axis)
        case ast.Subscript(value=ast.Call(func=ast.Attribute(attr="stride", value=tensor), args=[]), slice=axis):
            return _numbered(tensor, axis)
        case ast.Name():
            values = host.flow.values_of(node.id)
            if len(values) == 1 and isinstance(values[0], ast.expr) and host.flow.by_name[node.id][0].whole:
                return _stride(values[0], host) if not isinstance(values[0], ast.Name) else None
    return None


def _numbered(tensor: ast.expr, axis: ast.expr) -> TensorStride | None:
    sign = -1 if isinstance(axis, ast.UnaryOp) else 1
    number = axis.operand if isinstance(axis, ast.UnaryOp) else axis
    if isinstance(number, ast.Constant) and isinstance(number.value, int):
        return TensorStride(tensor, sign * number.value)
    return None


def _differs(tensor: ast.expr, stride: TensorStride, tensors: HostTensors) -> bool:
    """Certainly another layout: a fresh tensor against a transposed view, or other sizes behind the axis."""
    if ast.dump(tensor) == ast.dump(stride.tensor):
        return False
    own, other = tensors.made(tensor), tensors.made(stride.tensor)
    if own.root == other.root:
        return own.turned != other.turned
    if (own.fresh and other.turned) or (other.fresh and own.turned):
        return True
    if own.turned or other.turned:
        return False
    return (own.fresh or other.fresh) and _sizes_differ(tensor, stride, tensors)


def _sizes_differ(tensor: ast.expr, stride: TensorStride, tensors: HostTensors) -> bool:
    mine, theirs = tensors.dims(tensor), tensors.dims(stride.tensor)
    if mine is None or theirs is None or not -len(theirs) <= stride.axis < len(theirs):
        return False
    behind = len(theirs) - 1 - stride.axis % len(theirs)
    if behind == 0 or len(mine) <= behind:
        return False
    sizes = [sum(dims[-behind:], Counter()) for dims in (mine, theirs)]
    return sizes[0] != sizes[1] and "_" not in sizes[0] + sizes[1]


def _message(tensor: ast.expr, stride: TensorStride, given: ast.expr) -> str:
    return (
        f"{ast.unparse(given)} is used to address {ast.unparse(tensor)}, which has another layout than "
        f"{ast.unparse(stride.tensor)}: pass the strides of {ast.unparse(tensor)} itself"
    )
