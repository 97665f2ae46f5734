"""Which values in device code are certainly tensors: run-time values, as opposed to constants and tuples."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from tilesmith.lint.dataflow import Binding, Flow, read_flow
from tilesmith.lint.kernels import LANGUAGE
from tilesmith.lint.source import JitFunction
from tilesmith.lint.vocabulary import BLOCK_MAKERS

KEEPS_TENSOR = frozenset({"to", "cast"})
MOST_ROUNDS = 50
PLAIN_RANGES = frozenset({"range", "triton.language.range"})


@dataclass(frozen=True)
class Tensors:
    """Answers "is this certainly a tensor?" for expressions of one jit function."""

    names: frozenset[str]
    imports: Mapping[ast.AST, str]

    def include(self, value: ast.expr) -> bool:
        match value:
            case ast.Name():
                return value.id in self.names
            case ast.Call():
                return self._call(value)
            case ast.BinOp():
                return self.include(value.left) or self.include(value.right)
            case ast.UnaryOp():
                return self.include(value.operand)
            case ast.BoolOp():
                return all(self.include(part) for part in value.values)
            case ast.Compare():
                identity = any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in value.ops)
                return not identity and len(value.ops) == 1 and any(map(self.include, _sides(value)))
            case ast.Subscript():
                return self.include(value.value)
        return False

    def _call(self, call: ast.Call) -> bool:
        dotted = self.imports.get(call.func, "")
        if dotted.startswith(LANGUAGE):
            return dotted.removeprefix(LANGUAGE).removeprefix("math.") in BLOCK_MAKERS
        method = call.func
        return isinstance(method, ast.Attribute) and method.attr in KEEPS_TENSOR and self.include(method.value)

    def is_range(self, loop: ast.For) -> bool:
        """A loop that runs on the device, so that its body is always compiled and its index is a tensor."""
        if not isinstance(loop.iter, ast.Call):
            return False
        function = loop.iter.func
        name = self.imports.get(function) or (function.id if isinstance(function, ast.Name) else "")
        return name in PLAIN_RANGES


def find_tensors(function: JitFunction, imports: Mapping[ast.AST, str]) -> Tensors:
    """Names all of whose assignments give a tensor: assume it of all, then strike out until none is left."""
    flow = read_flow(function.node.body)
    indices = {
        loop.target.id
        for loop in ast.walk(function.node)
        if isinstance(loop, ast.For)
        and isinstance(loop.target, ast.Name)
        and Tensors(frozenset(), imports).is_range(loop)
    }
    names = frozenset(flow.by_name) - set(function.params)
    for _ in range(MOST_ROUNDS):
        tensors = Tensors(names, imports)
        kept = frozenset(name for name in names if _all_tensors(name, flow, indices, tensors))
        if kept == names:
            return tensors
        names = kept
    return Tensors(frozenset(), imports)


def _all_tensors(name: str, flow: Flow, indices: set[str], tensors: Tensors) -> bool:
    return all(_is_tensor(binding, indices, tensors) for binding in flow.by_name[name])


def _is_tensor(binding: Binding, indices: set[str], tensors: Tensors) -> bool:
    if not binding.whole:
        return binding.name in indices and isinstance(binding.value, ast.Call)
    return tensors.include(binding.value)


def _sides(comparison: ast.Compare) -> list[ast.expr]:
    return [comparison.left, *comparison.comparators]
