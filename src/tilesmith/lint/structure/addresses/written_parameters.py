"""Which of its parameters a kernel writes through, itself or in the functions it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.source_cache import cached_per_source
from tilesmith.lint.vocabulary import STORES, words

POINTER_MAKERS = words("make_block_ptr make_tensor_descriptor advance multiple_of max_contiguous cast")
"""Their first argument, or `base`, is the pointer."""
DESCRIPTOR_WRITES = frozenset({"store", "scatter", "atomic_add", "atomic_max", "atomic_min"})
DEEPEST_CALLS = 6


@cached_per_source
def written_params(kernel: JitFunction, source: KernelSource, depth: int = DEEPEST_CALLS) -> frozenset[str]:
    """Parameters that a store can reach; empty also where addresses cannot be followed."""
    addresses = [*_stored_addresses(kernel)]
    if depth:
        addresses += _handed_on(kernel, source, depth)
    return frozenset(name for address in addresses for name in pointer_params(address, kernel))


def pointer_params(address: ast.AST, kernel: JitFunction) -> set[str]:
    """The run-time parameters that stand in an address as a summand, through any number of names."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting: list[ast.AST] = [address]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if node.id in kernel.params and node.id not in kernel.constexprs:
                found.add(node.id)
            if node.id not in seen:
                seen.add(node.id)
                waiting += kernel.flow.values_of(node.id)
        else:
            waiting += _summands(node)
    return found


def _summands(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return [node.left, node.right]
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            return [node.target, node.value]
        case ast.Call(func=ast.Attribute(value=cast, attr="to")):
            return [cast]
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in POINTER_MAKERS:
            return [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "base")]
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, one, other]):
            return [one, other]
        case ast.IfExp():
            return [node.body, node.orelse]
        case ast.Subscript():
            return [node.value]
        case ast.Tuple():
            return [*node.elts]
    return []


def _stored_addresses(kernel: JitFunction) -> Iterator[ast.AST]:
    for call in kernel.calls:
        if call.operation in STORES:
            yield from call.node.args[:1]
            yield from (keyword.value for keyword in call.node.keywords if keyword.arg == "pointer")
    for node in kernel.nodes:
        if type(node) is ast.Call and isinstance(node.func, ast.Attribute) and node.func.attr in DESCRIPTOR_WRITES:
            yield from [node.func.value] if isinstance(node.func.value, ast.Name) else []


def _handed_on(kernel: JitFunction, source: KernelSource, depth: int) -> Iterator[ast.AST]:
    """Arguments that a called function of the file writes through."""
    for node in kernel.nodes:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in kernel.callees and name != kernel.name:
                for callee in source.jit_named(name):
                    written = written_params(callee, source, depth - 1)
                    given = dict(zip(callee.params, node.args, strict=False))
                    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
                    yield from (argument for param, argument in given.items() if param in written)
