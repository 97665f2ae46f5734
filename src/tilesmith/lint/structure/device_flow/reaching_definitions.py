"""Which assignments of a name can still hold where it is read."""

from __future__ import annotations

import ast

from tilesmith.lint.model.syntax.flow import Binding, Flow
from tilesmith.lint.structure.device_flow.value_flow import ValueFlow

LOOPS = (ast.For, ast.While)
MOST_ASSIGNMENTS = 60
"""Of one name; one with more stands for nothing."""
MOST_VALUES = 300
"""Followed back from one value."""


def parts_reaching(value: ast.AST, flow: ValueFlow) -> set[ast.AST]:
    """Every node a value is computed from, through assignments that can still hold where their names are read."""
    found: set[ast.AST] = set()
    seen: set[ast.AST] = set()
    waiting = [value]
    while waiting and len(seen) < MOST_VALUES:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            nodes = flow.nodes(current)
            found.update(nodes)
            names = [node for node in nodes if isinstance(node, ast.Name)]
            names = [name for name in names if len(flow.by_name.get(name.id, ())) <= MOST_ASSIGNMENTS]
            waiting += [binding.value for name in names for binding in reaching(flow, name)]
    return found


def reaching(flow: Flow, use: ast.Name) -> list[Binding]:
    """The last assignment that certainly ran before, what may have run since, and what earlier turns may leave."""
    bindings = flow.by_name.get(use.id, ())
    if len(bindings) < 2:
        return list(bindings)
    syntax = flow.syntax
    at = syntax.position(use)
    placed = [(_statement(flow, binding), binding) for binding in bindings]
    above = {node: below for below, node in _path(flow, use)}
    earlier = [(s, b) for s, b in placed if syntax.position(s) < at and not _inside(flow, s, use)]
    before = [(syntax.position(s), s, b) for s, b in earlier]
    certain = [entry for entry in before if not _adds(entry[2]) and _dominates(flow, entry[1], above)]
    last = max(certain, key=lambda entry: entry[0]) if certain else None
    start = -1 if last is None else last[0]
    found = [b for position, s, b in before if position >= start and not _excluded(flow, s, above)]
    loops = [node for node in above if isinstance(node, LOOPS)]
    turns = [loop for loop in loops if last is None or not syntax.contains(loop, last[1])]
    later = [b for s, b in placed if b not in found and any(syntax.contains(loop, s) for loop in turns)]
    return [*found, *later] or list(bindings)


def _statement(flow: Flow, binding: Binding) -> ast.AST:
    """The statement that assigns; for a loop's own name the loop."""
    node = binding.value
    while not isinstance(node, ast.stmt):
        parent = flow.syntax.parents.get(node)
        if parent is None:
            return node
        node = parent
    return node


def _path(flow: Flow, use: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Each node above the use, with the node below it on the way."""
    found, below = [], use
    for node in flow.syntax.ancestors(use):
        found.append((below, node))
        below = node
    return found


def _inside(flow: Flow, statement: ast.AST, use: ast.AST) -> bool:
    """A statement reads its names before it assigns; a loop assigns its own before its body."""
    return flow.syntax.contains(statement, use) and not isinstance(statement, LOOPS)


def _adds(binding: Binding) -> bool:
    return isinstance(binding.value, ast.AugAssign)


def _excluded(flow: Flow, statement: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """It stands in the other branch of an `if` around the use."""
    below = statement
    for node in flow.syntax.ancestors(statement):
        if node in above:
            branches = (node.body, node.orelse) if isinstance(node, ast.If) else ()
            return any(below in branch and above[node] not in branch for branch in branches)
        below = node
    return False


def _dominates(flow: Flow, statement: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """It stands in a block that leads to the use."""
    if statement in above:
        return isinstance(statement, ast.For)
    parent = flow.syntax.parents.get(statement)
    below = above.get(parent) if parent is not None else None
    if below is None:
        return False
    blocks = [getattr(parent, name, []) for name in ("body", "orelse", "finalbody")]
    return any(isinstance(block, list) and statement in block and below in block for block in blocks)
