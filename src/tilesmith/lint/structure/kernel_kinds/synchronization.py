"""Programs that wait for each other: a `while` that asks memory again and again."""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import JitFunction
from tilesmith.lint.vocabulary import LOADS


def waits_for_others(parts: tuple[JitFunction, ...]) -> bool:
    """A spin on an atomic, or on a value loaded inside the loop."""
    return any(_spins(loop.node, part) for part in parts for loop in part.loops)


def _spins(loop: ast.For | ast.While, part: JitFunction) -> bool:
    if not isinstance(loop, ast.While):
        return False
    syntax = part.flow.syntax
    asking = {call.node for call in part.calls if call.operation in LOADS or call.operation.startswith("atomic_")}
    if any(node in asking for node in syntax.inside(loop.test)):
        return True
    tested = syntax.names(loop.test)
    bound = [binding.value for binding in part.flow.bindings if binding.name in tested]
    asked = [value for value in bound if isinstance(value, ast.Call) and value in asking]
    return any(_is_inside(call, loop, part) and _stands_still(call, loop, part) for call in asked)


def _is_inside(node: ast.AST, loop: ast.While, part: JitFunction) -> bool:
    return any(part.flow.syntax.contains(statement, node) for statement in loop.body)


def _stands_still(call: ast.Call, loop: ast.While, part: JitFunction) -> bool:
    """Always the same place: walking through a list reads another one each time."""
    moved = {binding.name for binding in part.flow.bindings if _is_inside(binding.value, loop, part)}
    return not part.flow.origins(*call.args[:1]) & moved
