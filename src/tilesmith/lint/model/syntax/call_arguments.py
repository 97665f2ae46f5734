"""The arguments of a call: how they are written and, in device code, what is known of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from tilesmith.lint.model.device.values import UNKNOWN, DeviceValue


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """By position or keyword; None when absent or hidden behind a star."""
    before = call.args[: position + 1]
    if len(before) > position and not any(isinstance(part, ast.Starred) for part in before):
        return before[position]
    return keyword(call, name)


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((given.value for given in call.keywords if given.arg == name), None)


@dataclass(frozen=True)
class CallArguments:
    """The arguments of one call: their syntax and what is known of them."""

    node: ast.Call
    given: list[DeviceValue]
    named: Mapping[str, DeviceValue]
    imports: Mapping[ast.AST, str]

    def value(self, position: int, name: str) -> DeviceValue:
        if position < len(self.given):
            return self.given[position]
        return self.named.get(name, UNKNOWN)

    def expression(self, position: int, name: str) -> ast.expr | None:
        if position < len(self.node.args):
            return self.node.args[position]
        return keyword(self.node, name)

    def without_first(self) -> CallArguments:
        """As a method sees them: the tensor itself stands before."""
        filler = ast.Constant(None)
        shifted = ast.Call(self.node.func, [filler, *self.node.args], self.node.keywords)
        return CallArguments(shifted, [UNKNOWN, *self.given], self.named, self.imports)

    def dtype(self, position: int, name: str = "dtype") -> str:
        expression = self.expression(position, name)
        return "" if expression is None else self.imports.get(expression, "").removeprefix("triton.language.")
