"""Host names by scope: what a function, or the module itself, assigns to a name and which functions it defines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.host.reachability import FUNCTIONS
from tilesmith.lint.model.syntax.call_arguments import parameters
from tilesmith.lint.model.syntax.flow import Binding, bind_target
from tilesmith.lint.model.syntax.tree import SyntaxTree

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


def scope_of(node: ast.AST, syntax: SyntaxTree) -> Scope:
    """The function around the node, or the module."""
    return next((above for above in syntax.ancestors(node) if isinstance(above, FUNCTIONS)), syntax.tree)


def outwards(scope: Scope, syntax: SyntaxTree) -> Iterator[Scope]:
    """The scope and those around it."""
    yield scope
    while not isinstance(scope, ast.Module):
        scope = scope_of(scope, syntax)
        yield scope


def home_of(name: str, scope: Scope, syntax: SyntaxTree) -> Scope | None:
    """The nearest scope outwards that assigns the name; None also where a parameter hides it."""
    for current in outwards(scope, syntax):
        if assigned(name, current):
            return current
        if not isinstance(current, ast.Module) and name in parameters(current):
            return None
    return None


def function_named(name: str, scope: Scope, syntax: SyntaxTree) -> ast.FunctionDef | None:
    for current in outwards(scope, syntax):
        for node in own_statements(current):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
    return None


def assigned(name: str, scope: Scope) -> list[ast.AST]:
    """Values the scope's own statements give the name as a whole."""
    bindings = [binding for node in own_statements(scope) for binding in _bindings(node)]
    return [binding.value for binding in bindings if binding.name == name and binding.whole]


def own_statements(scope: Scope) -> Iterator[ast.AST]:
    """Statements of the scope itself and the functions it defines, but not what is inside those."""
    waiting: list[ast.AST] = list(reversed(scope.body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            inner = [c for c in ast.iter_child_nodes(node) if isinstance(c, (ast.stmt, ast.ExceptHandler))]
            waiting += reversed(inner)


def _bindings(node: ast.AST) -> list[Binding]:
    if isinstance(node, ast.Assign):
        return [binding for target in node.targets for binding in bind_target(target, node.value, node.lineno)]
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return bind_target(node.target, node.value, node.lineno)
    return []
