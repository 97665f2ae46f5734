"""Does a loop pick something of the module in each turn, as a loop over layers does?"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilesmith.lint.model.source import HostCode
from tilesmith.lint.structure.host_code.value_origins import HostValues

DEEPEST_CALL = 2


def picks_members(
    body: Sequence[ast.AST],
    indices: frozenset[str],
    host: HostCode,
    values: HostValues,
    depth: int = DEEPEST_CALL,
) -> bool:
    """`self.weights[i]` or `getattr(self, f"w{i}")`, here or in a function the index is passed to."""
    syntax = values.source.syntax
    for node in syntax.inside(*body):
        match node:
            case ast.Subscript() if syntax.names(node.slice) & indices and values.is_member(node.value, host):
                return True
            case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]) if syntax.names(name) & indices:
                return True
            case ast.Call() if depth and _passes_on(node, indices, host, values, depth - 1):
                return True
    return False


def _passes_on(call: ast.Call, indices: frozenset[str], host: HostCode, values: HostValues, depth: int) -> bool:
    for callee in values.calls.callees(call, host):
        passed = values.calls.passed(call, callee) or {}
        names = {name for name, value in passed.items() if isinstance(value, ast.Name) and value.id in indices}
        if names and picks_members(callee.node.body, frozenset(names), callee, values, depth):
            return True
    return False
