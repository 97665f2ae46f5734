"""Python asks for one truth or one number where a tensor holds many, or where only the device knows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.values import ValueKind
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.rules.findings import compile_fault, warning
from tilesmith.lint.structure.device_flow.compile_time import is_runtime, may_be_one, sizes
from tilesmith.records import Finding

RULE = "tensor-truth"
CHOICES = {ast.If: "if", ast.While: "while", ast.IfExp: "a conditional expression"}
MASKS = "compute both sides and choose with tl.where(mask, a, b), or reduce the condition to one value first"
NUMBERS = {
    "float": "use .to(tl.float32), or leave the division to the tensor",
    "int": "use .to(tl.int32)",
    "len": "use x.shape[0]",
    "max": "use tl.max(x, axis=0)",
    "min": "use tl.min(x, axis=0)",
}


def tensor_truth(source: KernelSource) -> Iterator[Finding]:
    """Choices on blocks, numbers taken from tensors, chained comparisons, `and` and `or` between blocks."""
    for function in source.jit_functions:
        for node in function.nodes:
            match node:
                case ast.If() | ast.While() | ast.IfExp():
                    yield from _choice(source, function, node)
                case ast.Call(func=ast.Name(id=name)) if name in NUMBERS:
                    yield from _number(source, function, node, name)
                case ast.Compare() if len(node.ops) > 1:
                    message = "releases before 3.7 refuse a chained comparison: write (a <= x) & (x < b)"
                    yield warning(RULE, node.lineno, message)
                case ast.BoolOp():
                    yield from _junction(function, node)


def _choice(source: KernelSource, function: JitFunction, node: ast.If | ast.While | ast.IfExp) -> Iterator[Finding]:
    test = function.value(node.test)
    if isinstance(node, ast.While) and test.kind is ValueKind.STATIC:
        message = f"`while {ast.unparse(node.test)}` never asks the device: test a value that the loop changes"
        yield compile_fault(source, RULE, node, message)
    if not test.is_block or test.shape is None:
        return
    lengths = [sizes(source, function, dim) for dim in test.shape]
    if all(length == frozenset({1}) for length in lengths):
        return
    message = f"`{CHOICES[type(node)]}` needs one truth, but {ast.unparse(node.test)} is a block of them: {MASKS}"
    if any(length is not None and 1 not in length for length in lengths):
        yield compile_fault(source, RULE, node, message)
    else:
        yield warning(RULE, node.lineno, message)


def _number(source: KernelSource, function: JitFunction, node: ast.Call, name: str) -> Iterator[Finding]:
    if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return
    if not isinstance(node.func, ast.Name) or source.names.scope_binding(node.func) is not None:
        return
    given = node.args[0]
    certain = function.value(given).kind is ValueKind.TENSOR
    if certain or (name in ("float", "int") and is_runtime(source, function, given)):
        message = (
            f"Python's {name}() cannot read {ast.unparse(given)}, which only the device knows: {NUMBERS[name]}"
        )
        if not certain and may_be_one(source, function, given):
            yield warning(RULE, node.lineno, f"{message} (it works only where every launch passes 1)")
        else:
            yield compile_fault(source, RULE, node, message)


def _junction(function: JitFunction, node: ast.BoolOp) -> Iterator[Finding]:
    if any(function.value(part).is_block for part in node.values):
        word, sign = ("and", "&") if isinstance(node.op, ast.And) else ("or", "|")
        message = f"`{word}` between blocks is deprecated and meant for single truths: use (a) {sign} (b)"
        yield warning(RULE, node.lineno, message)
