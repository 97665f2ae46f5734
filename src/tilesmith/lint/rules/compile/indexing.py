"""A Triton tensor cannot be indexed or assigned into; only `None` and `:` may stand in its brackets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.operations import literal_int
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.values import Kind
from tilesmith.lint.rules.findings import compile_fault
from tilesmith.records import Finding

READ = (
    "a tensor in registers cannot be indexed: load the elements you need with tl.load(ptr + index), or "
    "select them with tl.where and a reduction"
)
WRITE = "a tensor in registers cannot be assigned into: build it with tl.where, or write to memory with tl.store"


def tensor_indexing(source: KernelSource) -> Iterator[Finding]:
    """Brackets on a value that is certainly a tensor, holding more than `None` and `:`."""
    for function in source.jit_functions:
        subscripts = [node for node in function.nodes if isinstance(node, ast.Subscript)]
        if not subscripts:
            continue
        for node in subscripts:
            if function.value(node.value).kind is not Kind.TENSOR:
                continue
            if isinstance(node.ctx, ast.Store):
                yield compile_fault(source, "tensor-indexing", node, WRITE)
            elif _selects(node.slice, function):
                yield compile_fault(source, "tensor-indexing", node, READ)


def _selects(index: ast.expr, function: JitFunction) -> bool:
    if isinstance(index, ast.Tuple):
        return any(_selects(part, function) for part in index.elts)
    if isinstance(index, ast.Slice):
        return any(literal_int(end) is not None for end in (index.lower, index.upper, index.step))
    return literal_int(index) is not None or function.value(index).kind is Kind.TENSOR
