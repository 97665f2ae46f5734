"""Which parameters a kernel writes through, itself or in functions it calls, and how: by stores or by atomics."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tilesmith.lint.model.source import JitFunction, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import all_arguments, arguments_by_name
from tilesmith.lint.vocabulary import LANGUAGE, STORES

ACCUMULATING = frozenset(
    {"atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_cas"}
)
"""What they leave behind depends on what was there before."""
OPAQUE = frozenset({"inline_asm_elementwise", "inline_ptx_elementwise", "map_elementwise"})
BUILTINS = frozenset({"range", "min", "max", "float", "int", "bool", "abs", "len", "print", "tuple", "isinstance"})
HOST_ARITHMETIC = frozenset({"triton.cdiv", "triton.next_power_of_2"})
UNKNOWN_WRITE = "unknown"
DESCRIPTOR_WRITES = frozenset({"store", "scatter", "atomic_add"})
DEEPEST_CALL = 4
Writes = Mapping[str, frozenset[str]]
"""Operations that may write through a parameter, by its name; `unknown` where it leaves our sight."""


@cached_per_source
def writes_of(function: JitFunction, source: KernelSource, depth: int = DEEPEST_CALL) -> Writes:
    """Generous: a parameter that only takes part in computing the address counts as written, too."""
    if any(call.operation.lstrip("_").startswith("experimental") for call in function.calls):
        return {name: frozenset({UNKNOWN_WRITE}) for name in function.params}
    found: dict[str, set[str]] = {}
    for node in function.nodes:
        if isinstance(node, ast.Call):
            for operation, address in _written(node, source, depth):
                for name in function.flow.origins(address) & frozenset(function.params):
                    found.setdefault(name, set()).add(operation)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            for name in function.flow.origins(node.value) & frozenset(function.params):
                found.setdefault(name, set()).add(UNKNOWN_WRITE)
    return {name: frozenset(operations) for name, operations in found.items()}


def _written(call: ast.Call, source: KernelSource, depth: int) -> list[tuple[str, ast.expr]]:
    """Each operation this call performs, with the address it writes to."""
    dotted = source.dotted(call.func) or ""
    if dotted.startswith(LANGUAGE):
        operation = dotted.rpartition(".")[2]
        if operation in OPAQUE or ".extra." in dotted:
            return [(UNKNOWN_WRITE, argument) for argument in all_arguments(call)]
        written = operation in STORES or operation in ACCUMULATING
        return [(operation, all_arguments(call)[0])] if written and all_arguments(call) else []
    match call.func:
        case ast.Attribute(value=owner, attr=method) if not dotted:
            written = method in DESCRIPTOR_WRITES or method.startswith("atomic_")
            return [(method, owner)] if written else []
        case ast.Name(id=name) if source.jit_named(name):
            return _written_by_callee(call, source.jit_named(name)[-1], source, depth)
    harmless = isinstance(call.func, ast.Name) and call.func.id in BUILTINS
    return [] if harmless or dotted in HOST_ARITHMETIC else [(UNKNOWN_WRITE, arg) for arg in all_arguments(call)]


def _written_by_callee(
    call: ast.Call, callee: JitFunction, source: KernelSource, depth: int
) -> list[tuple[str, ast.expr]]:
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if depth == 0 or starred or len(source.jit_named(callee.name)) > 1:
        return [(UNKNOWN_WRITE, argument) for argument in all_arguments(call)]
    bound = arguments_by_name(callee.params, call)
    inner = writes_of(callee, source, depth - 1)
    return [(op, bound[name]) for name, operations in inner.items() if name in bound for op in operations]
