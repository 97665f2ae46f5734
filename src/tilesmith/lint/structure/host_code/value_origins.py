"""Where a value of host code comes from: the module's members, the data, or neither.

A helper's parameter is what its callers in the file pass. Without any caller it is an input.
"""

from __future__ import annotations

import ast
from enum import Enum

from tilesmith.lint.model.source import HostCode, KernelSource
from tilesmith.lint.structure.host_code.host_calls import HostCalls, is_static
from tilesmith.lint.vocabulary import words

DEEPEST_LOOK = 12
TENSOR_ATTRIBUTES = words(
    """
    shape size stride dtype device contiguous numel dim ndim view reshape transpose permute to unsqueeze squeeze
    flatten unbind new_empty new_zeros new_ones float half bfloat16 data_ptr is_cuda clone detach element_size
    is_contiguous T mT unfold movedim
    """
)
"""What only a tensor is asked for; a list of tensors is not."""
SIZE_ATTRIBUTES = frozenset({"shape", "size", "numel"})
CREATORS = words("empty zeros ones full rand randn empty_strided")


class ValueOrigin(Enum):
    MEMBER = "member"
    """Of the module: weights, sub-modules, settings."""
    INPUT = "input"
    """Handed in by whoever calls the model or the operator."""
    MADE = "made"
    """A new tensor, made on the way."""


class HostValues:
    """Answers where values come from, for all host functions of one file."""

    def __init__(self, source: KernelSource, calls: HostCalls) -> None:
        self.source, self.calls = source, calls
        self._roots: dict[tuple[ast.AST, str], frozenset[ValueOrigin]] = {}
        self._dimensions: dict[tuple[ast.AST, str], bool] = {}
        self._tensors: dict[tuple[ast.AST, str], bool] = {}
        self._asked: dict[ast.AST, frozenset[str]] = {}

    def roots(self, expression: ast.AST, host: HostCode, depth: int = DEEPEST_LOOK) -> frozenset[ValueOrigin]:
        """Everything the expression is made of; a new tensor is new, whatever its size was taken from."""
        found: set[ValueOrigin] = set()
        waiting = [expression] if depth else []
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name):
                found |= self._roots_of_name(node.id, host, depth)
            elif isinstance(node, ast.Call) and creates_tensor(node):
                found.add(ValueOrigin.MADE)
                continue
            elif isinstance(node, ast.Call) and self.calls.starts_kernel(node, host):
                found.add(ValueOrigin.MADE)
            waiting += ast.iter_child_nodes(node)
        return frozenset(found)

    def is_member(self, expression: ast.AST, host: HostCode) -> bool:
        """Made of the module's members alone."""
        return self.roots(expression, host) == {ValueOrigin.MEMBER}

    def is_tensor(self, expression: ast.AST, host: HostCode) -> bool:
        """Something in the file uses it as a tensor, or makes it one."""
        match expression:
            case ast.Name(id=name):
                key = (host.node, name)
                if key not in self._tensors:
                    self._tensors[key] = False
                    self._tensors[key] = self._is_tensor_name(name, host)
                return self._tensors[key]
            case ast.Call():
                asked = isinstance(expression.func, ast.Attribute) and expression.func.attr in TENSOR_ATTRIBUTES
                return asked or self._makes_tensor(expression, host)
            case ast.Subscript():
                return isinstance(expression.slice, ast.Tuple) or self.is_tensor(expression.value, host)
        return isinstance(expression, ast.BinOp)

    def is_dimension(self, expression: ast.AST, host: HostCode) -> bool:
        """A number that grows with the data: an extent of an input, through names and calls."""
        match expression:
            case ast.Name(id=name):
                key = (host.node, name)
                if key not in self._dimensions:
                    self._dimensions[key] = False
                    self._dimensions[key] = self._is_extent_name(name, host)
                return self._dimensions[key]
            case ast.Attribute(attr=name, value=owner):
                return name in SIZE_ATTRIBUTES and ValueOrigin.INPUT in self.roots(owner, host)
            case ast.Call(func=ast.Name(id="len"), args=[counted]):
                return self.is_tensor(counted, host) and ValueOrigin.INPUT in self.roots(counted, host)
            case ast.Call(func=ast.Name(id="min" | "max" | "int")):
                return any(self.is_dimension(argument, host) for argument in expression.args)
            case ast.Call(func=ast.Attribute()):
                return self.is_dimension(expression.func, host)
            case ast.Subscript(value=inner) | ast.UnaryOp(operand=inner):
                return self.is_dimension(inner, host)
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()):
                return self.is_dimension(expression.left, host) or self.is_dimension(expression.right, host)
            case ast.Compare():
                return any(self.is_dimension(side, host) for side in (expression.left, *expression.comparators))
        return False

    def arguments(self, name: str, host: HostCode) -> list[tuple[ast.expr, HostCode]]:
        """What the callers pass for a parameter."""
        found = []
        for site in self.calls.callers(host):
            passed = self.calls.passed(site.call, host) or {}
            if name in passed:
                found.append((passed[name], site.host))
        return found

    def _roots_of_name(self, name: str, host: HostCode, depth: int) -> frozenset[ValueOrigin]:
        key = (host.node, name)
        if key not in self._roots:
            self._roots[key] = frozenset()
            self._roots[key] = self._find_roots(name, host, depth)
        return self._roots[key]

    def _find_roots(self, name: str, host: HostCode, depth: int) -> frozenset[ValueOrigin]:
        if values := host.flow.values_of(name):
            found = frozenset[ValueOrigin]().union(*(self.roots(value, host, depth - 1) for value in values))
        else:
            found = frozenset()
        if name not in host.params:
            return found
        if host.owner is not None and name == host.params[0] and not is_static(host.node):
            return frozenset({ValueOrigin.MEMBER})
        passed = self.arguments(name, host)
        if not passed:
            return found | {ValueOrigin.INPUT}
        return found.union(*(self.roots(value, caller, depth - 1) for value, caller in passed))

    def _makes_tensor(self, call: ast.Call, host: HostCode) -> bool:
        dotted = self.source.dotted(call.func) or ""
        return dotted.startswith("torch.") or self.calls.starts_kernel(call, host)

    def _is_tensor_name(self, name: str, host: HostCode) -> bool:
        if name in self._asked_as_tensors(host):
            return True
        bindings = host.flow.by_name.get(name, ())
        if bindings:
            return any(binding.whole and self.is_tensor(binding.value, host) for binding in bindings)
        return any(self.is_tensor(value, caller) for value, caller in self.arguments(name, host))

    def _asked_as_tensors(self, host: HostCode) -> frozenset[str]:
        """Names whose shape, stride or the like the function asks for."""
        if host.node not in self._asked:
            attributes = self.source.syntax.of_type(ast.Attribute, host.node)
            asked = [node.value for node in attributes if node.attr in TENSOR_ATTRIBUTES]
            self._asked[host.node] = frozenset(value.id for value in asked if isinstance(value, ast.Name))
        return self._asked[host.node]

    def _is_extent_name(self, name: str, host: HostCode) -> bool:
        if values := host.flow.values_of(name):
            return any(self.is_dimension(value, host) for value in values)
        return any(self.is_dimension(value, caller) for value, caller in self.arguments(name, host))


def creates_tensor(call: ast.Call) -> bool:
    """A new tensor that takes nothing over but sizes: `torch.empty_like(x)`, `x.new_zeros(n)`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name.removeprefix("new_").removesuffix("_like") in CREATORS
