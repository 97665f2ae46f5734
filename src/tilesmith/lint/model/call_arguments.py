"""The arguments of a call in device code: how they are written and what is known of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from tilesmith.lint.model.values import UNKNOWN, Value


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call: their syntax and what is known of them."""

    node: ast.Call
    given: list[Value]
    named: Mapping[str, Value]
    imports: Mapping[ast.AST, str]

    def value(self, position: int, name: str) -> Value:
        if position < len(self.given):
            return self.given[position]
        return self.named.get(name, UNKNOWN)

    def expression(self, position: int, name: str) -> ast.expr | None:
        if position < len(self.node.args):
            return self.node.args[position]
        return next((k.value for k in self.node.keywords if k.arg == name), None)

    def without_first(self) -> Arguments:
        """As a method sees them: the tensor itself stands before."""
        filler = ast.Constant(None)
        shifted = ast.Call(self.node.func, [filler, *self.node.args], self.node.keywords)
        return Arguments(shifted, [UNKNOWN, *self.given], self.named, self.imports)

    def dtype(self, position: int, name: str = "dtype") -> str:
        expression = self.expression(position, name)
        return "" if expression is None else self.imports.get(expression, "").removeprefix("triton.language.")
