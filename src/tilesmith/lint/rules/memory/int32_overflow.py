"""Offsets formed in 32 bits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, info, warning
from tilesmith.lint.structure.addresses.accesses import KernelAccess, by_kernel, expansion_of
from tilesmith.lint.structure.addresses.expansion import AddressExpansion
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode
from tilesmith.records import Finding

RULE = "int32-overflow"
LIMIT = 1 << 31


@first_on_each_line
def int32_overflow(source: KernelSource) -> Iterator[Finding]:
    """A program's number times a run-time stride, once per kernel; silent where the task's tensors are small."""
    largest = source.facts.largest_elements
    if largest is not None and largest < LIMIT:
        return
    report = info if largest is None else warning
    expansion = expansion_of(source)
    for accesses in by_kernel(source):
        if products := _products(accesses, expansion):
            yield report(RULE, products[0].lineno, _message(products[0]))


def _products(accesses: list[KernelAccess], expansion: AddressExpansion) -> list[ast.BinOp]:
    """Index times stride behind the addresses, where neither was widened; in source order, the longest first."""
    pointers: dict[CallFrame, list[ast.expr]] = {}
    for access in accesses:
        pointers.setdefault(access.frame, []).append(access.pointer)
    behind = [place for frame, nodes in pointers.items() for place in frame.behind(*nodes)]
    places = {place for place in behind if isinstance(place.node, ast.BinOp)}
    found = [place.node for place in places if isinstance(place.node, ast.BinOp) and _is_offset(place, expansion)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset, -(node.end_col_offset or 0)))


def _is_offset(place: FramedNode, expansion: AddressExpansion) -> bool:
    node, frame = place
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    pairs = ((node.left, node.right), (node.right, node.left))
    scaled = any(_counts_programs(i, frame, expansion) and _is_runtime(s, frame, expansion) for i, s in pairs)
    # some part was turned into 64 bits
    return scaled and not any(
        isinstance(p.node, ast.Attribute) and p.node.attr in ("int64", "uint64") for p in frame.behind(node)
    )


def _counts_programs(node: ast.expr, frame: CallFrame, expansion: AddressExpansion) -> bool:
    factors = [place.node for term in expansion.terms(node, frame) for place in term.factors]
    return any(expansion.operation(factor) == "program_id" for factor in factors)


def _is_runtime(node: ast.expr, frame: CallFrame, expansion: AddressExpansion) -> bool:
    """Made of plain parameters of the kernel, and not of another index."""
    factors = [place for term in expansion.terms(node, frame) for place in term.factors]
    if any(expansion.operation(place.node) for place in factors):
        return False
    names = [(place.node.id, place.frame.function) for place in factors if isinstance(place.node, ast.Name)]
    return any(name in function.params and name not in function.constexprs for name, function in names)


def _message(node: ast.BinOp) -> str:
    return (
        f"{ast.unparse(node)} is formed in 32 bits and wraps round from 2**31 elements on: widen the index once, "
        "tl.program_id(0).to(tl.int64)"
    )
