"""Functions and types from outside Triton, used inside a kernel."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from tilesmith.lint.model.device.values import ValueKind
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.rules.findings import compile_fault, info
from tilesmith.lint.structure.device_flow.compile_time import is_launched
from tilesmith.lint.vocabulary import LANGUAGE, LANGUAGE_NAMES, TORCH_TYPES, words
from tilesmith.records import Finding, Severity

RULE = "python-in-kernel"
HOST_LIBRARIES = ("torch.", "numpy.", "scipy.", "cupy.", "jax.")
DEVICE_HELPERS = "torch._inductor."
"""Inductor keeps jit functions and re-exports libdevice there."""
CLASSES = words(
    "finfo iinfo dtype device Size float16 float32 float64 int8 int16 int32 int64 uint8 bool_ float_ int_"
)
KNOWN_BUILTINS = words("len list range float int isinstance getattr hasattr print min max")
UNKNOWN_BUILTINS = frozenset(
    name for name in dir(builtins) if name.islower() and not name.startswith("_") and name not in KNOWN_BUILTINS
)
INSTEAD = {
    "abs": "tl.abs(x)",
    "sum": "tl.sum(x, axis=0)",
    "round": "triton.language.extra.libdevice.round",
    "pow": "multiplication, or tl.exp2(y * tl.log2(x))",
    "bool": "a comparison such as x != 0",
    "any": "tl.max over the condition",
    "all": "tl.min over the condition",
    "divmod": "// and %",
}


def host_functions(source: KernelSource) -> Iterator[Finding]:
    """Calls of torch, numpy and plain Python functions, Python's builtins, and torch types as types."""
    plain = _plain_functions(source)
    for function in source.jit_functions:
        for node in function.nodes:
            if type(node) is ast.Call:
                yield from _call(source, function, node, plain)
            elif type(node) is ast.Name and _is_unknown_builtin(source, node):
                instead = INSTEAD.get(node.id)
                cure = f"use {instead}" if instead else "do it on the host, or write it out"
                message = f"Triton does not know Python's {node.id}: {cure}"
                yield compile_fault(source, RULE, node, message)


def _call(source: KernelSource, function: JitFunction, node: ast.Call, plain: frozenset[str]) -> Iterator[Finding]:
    dotted = source.dotted(node.func) or ""
    tail = dotted.rpartition(".")[2]
    if dotted.startswith(HOST_LIBRARIES) and not dotted.startswith(DEVICE_HELPERS):
        if tail not in CLASSES and not tail[:1].isupper():
            known = f"tl.{tail}" if tail in LANGUAGE_NAMES else "functions of triton.language"
            message = f"{ast.unparse(node.func)} runs on the host and cannot be called in a kernel: use {known}"
            yield _refused_on_reading(source, function, node, message)
    elif dotted.startswith("math.") and node.args:
        yield from _math_call(source, function, node, tail)
    elif isinstance(node.func, ast.Name) and node.func.id in plain and _is_module_name(source, node.func):
        message = f"{node.func.id} is a plain Python function: decorate it with @triton.jit to call it in a kernel"
        yield _refused_on_reading(source, function, node, message)
    yield from _torch_types(source, node, dotted)


def _refused_on_reading(source: KernelSource, function: JitFunction, node: ast.expr, message: str) -> Finding:
    """Triton reads the whole source for calls before it compiles any of it."""
    severity = Severity.ERROR if is_launched(source, function) else Severity.WARNING
    return Finding(RULE, severity, node.lineno, message)


def _math_call(source: KernelSource, function: JitFunction, node: ast.Call, tail: str) -> Iterator[Finding]:
    if any(function.value(argument).kind is ValueKind.TENSOR for argument in node.args):
        known = f"tl.{tail}" if tail in LANGUAGE_NAMES else "functions of triton.language"
        message = f"math.{tail} takes Python numbers, not tensors: use {known}"
        yield compile_fault(source, RULE, node, message)
    else:
        yield info(RULE, node.lineno, f"releases before 3.4 refuse math.{tail} in a kernel: compute it on the host")


def _torch_types(source: KernelSource, node: ast.Call, dotted: str) -> Iterator[Finding]:
    """`x.to(torch.float32)`, `tl.zeros(..., dtype=torch.float32)`."""
    converts = isinstance(node.func, ast.Attribute) and node.func.attr == "to" and not dotted
    if not converts and not dotted.startswith(LANGUAGE):
        return
    for argument in all_arguments(node):
        named = (source.dotted(argument) or "") if isinstance(argument, ast.Attribute) else ""
        if named.startswith("torch.") and named.removeprefix("torch.") in TORCH_TYPES:
            message = f"a kernel needs Triton's own types: write tl.{named.removeprefix('torch.')} for {named}"
            yield compile_fault(source, RULE, node, message)


def _plain_functions(source: KernelSource) -> frozenset[str]:
    """Functions at module level without any decorator, and named lambdas, that nothing else is called."""
    device = {function.node for function in source.jit_functions}
    found: list[str] = []
    for node in source.syntax.tree.body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and node not in device:
            found.append(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
    bound = source.names.module.bindings
    return frozenset(name for name in found if len(bound.get(name, ())) == 1)


def _is_module_name(source: KernelSource, node: ast.Name) -> bool:
    return source.names.scope_binding(node) is source.names.module


def _is_unknown_builtin(source: KernelSource, node: ast.Name) -> bool:
    if node.id not in UNKNOWN_BUILTINS or not isinstance(node.ctx, ast.Load):
        return False
    return source.names.scope_binding(node) is None and not source.names.stars
