"""A Triton tensor cannot be indexed or assigned into; only `None` and `:` may stand in its brackets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.values import PARAMETER, ValueKind
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.syntax.call_arguments import is_none
from tilesmith.lint.rules.findings import compile_fault, warning
from tilesmith.lint.structure.addresses.buffers import is_pointer
from tilesmith.records import Finding

READ = (
    "a tensor in registers cannot be indexed: load the elements you need with tl.load(ptr + index), or "
    "select them with tl.where and a reduction"
)
WRITE = "a tensor in registers cannot be assigned into: build it with tl.where, or write to memory with tl.store"
POINTER_READ = "a pointer cannot be indexed: read with tl.load(ptr + index)"
POINTER_WRITE = "memory cannot be written by brackets: use tl.store(ptr + index, value)"
TUPLE_READ = "a tuple is indexed while compiling, not by a run-time value: loop with tl.static_range"
TUPLE_WRITE = "most releases refuse to assign into a list or tuple: use separate names, or one block and tl.where"
RULE = "tensor-indexing"


def tensor_indexing(source: KernelSource) -> Iterator[Finding]:
    """Brackets on a value that is certainly a tensor, holding more than `None` and `:`."""
    for function in source.jit_functions:
        for node in function.nodes:
            if type(node) is not ast.Subscript:
                continue
            base = function.value(node.value)
            if base.kind is ValueKind.TENSOR:
                yield from _block_finding(source, function, node)
            elif base.kind is ValueKind.TUPLE:
                yield from _tuple_finding(source, function, node)
            elif base == PARAMETER and isinstance(node.value, ast.Name) and node.value.id in function.params:
                yield from _parameter_finding(source, function, node, node.value.id)


def _block_finding(source: KernelSource, function: JitFunction, node: ast.Subscript) -> Iterator[Finding]:
    if isinstance(node.ctx, ast.Store):
        yield compile_fault(source, RULE, node, WRITE)
    elif _selects(node.slice, function):
        yield compile_fault(source, RULE, node, READ)


def _tuple_finding(source: KernelSource, function: JitFunction, node: ast.Subscript) -> Iterator[Finding]:
    """Tuples and lists exist only while compiling; releases 3.3 to 3.5 let one assign into them."""
    if isinstance(node.ctx, ast.Store):
        yield warning(RULE, node.lineno, TUPLE_WRITE)
    elif function.value(node.slice).kind is ValueKind.TENSOR:
        yield compile_fault(source, RULE, node, TUPLE_READ)


def _parameter_finding(
    source: KernelSource, function: JitFunction, node: ast.Subscript, name: str
) -> Iterator[Finding]:
    """A parameter may also be a tuple, so only use as a pointer makes it certain."""
    stores = isinstance(node.ctx, ast.Store)
    if not stores and not _selects(node.slice, function):
        return
    message = POINTER_WRITE if stores else POINTER_READ
    if is_pointer(source, function, name):
        yield compile_fault(source, RULE, node, message)
    elif stores or function.value(node.slice).kind is ValueKind.TENSOR:
        yield warning(RULE, node.lineno, message)


def _selects(index: ast.expr, function: JitFunction) -> bool:
    match index:
        case ast.Tuple():
            return any(_selects(part, function) for part in index.elts)
        case ast.Slice():
            return any(end is not None and not is_none(end) for end in (index.lower, index.upper, index.step))
        case ast.Constant():
            return index.value is not None
    known = function.value(index)
    return known.kind in (ValueKind.TENSOR, ValueKind.STATIC) or known == PARAMETER
