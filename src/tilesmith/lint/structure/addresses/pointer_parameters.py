"""Which parameters of a kernel are certainly pointers: those that addresses are made of."""

from __future__ import annotations

import ast

from tilesmith.lint.model.device.values import PARAMETER, ValueKind
from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource
from tilesmith.lint.vocabulary import LOADS, STORES, words

TENSOR_METHODS = words(
    "contiguous clone detach float half bfloat16 cuda new_empty new_zeros new_ones new_full view reshape"
)
TENSOR_MAKERS = words(
    """
    torch.empty torch.zeros torch.ones torch.full torch.empty_like torch.zeros_like torch.ones_like torch.full_like
    torch.randn torch.rand torch.randn_like torch.rand_like torch.arange torch.tensor
    """
)
LONGEST_CHAIN = 4


def is_pointer(source: KernelSource, function: JitFunction, name: str) -> bool:
    """Addresses are made of it, or every launch passes it a torch tensor; else it may be a tuple."""
    return _makes_addresses(function, name) or _gets_tensors(source, function, name)


def _makes_addresses(function: JitFunction, name: str) -> bool:
    """`x_ptr + offsets` with a run-time offset, or `tl.load(x_ptr)`; a tuple would take part in neither."""
    for node in function.nodes:
        if type(node) is ast.BinOp and isinstance(node.op, ast.Add):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if _is_plain(function, side, name) and function.value(other).kind is ValueKind.TENSOR:
                    return True
    accesses = [call.node for call in function.calls if call.name in LOADS | STORES and call.node.args]
    return any(_is_plain(function, access.args[0], name) for access in accesses)


def _is_plain(function: JitFunction, node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and function.value(node) == PARAMETER


def _gets_tensors(source: KernelSource, function: JitFunction, name: str) -> bool:
    launches = source.launches_of(function)
    for launch in launches:
        bound = launch.bound_to(function) if launch.direct else None
        passed = None if bound is None else bound.get(name)
        if passed is None or not _is_tensor(source, source.host_of(launch), passed, LONGEST_CHAIN):
            return False
    return bool(launches)


def _is_tensor(source: KernelSource, host: HostCode | None, value: ast.AST, depth: int) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(attr=method)) if method in TENSOR_METHODS:
            return True
        case ast.Call():
            return source.dotted(value.func) in TENSOR_MAKERS
        case ast.Name(id=name) if host is not None and depth:
            bindings = host.flow.by_name.get(name, ())
            whole = bool(bindings) and all(binding.whole for binding in bindings)
            return whole and all(_is_tensor(source, host, b.value, depth - 1) for b in bindings)
    return False
