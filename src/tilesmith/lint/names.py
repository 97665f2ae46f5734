"""Which import a name leads to: `ld` is `triton.language.load`, wherever and however it was imported."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field

from tilesmith.lint.vocabulary import LANGUAGE_NAMES

MOVED = {
    "triton.runtime.jit.jit": "triton.jit",
    "triton.runtime.jit": "triton.jit",
    "triton.experimental.gluon.jit": "triton.jit",
    "triton.runtime.autotuner.autotune": "triton.autotune",
    "triton.runtime.autotune": "triton.autotune",
    "triton.runtime.autotuner.heuristics": "triton.heuristics",
}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass
class Scope:
    """Names bound in one scope: to an import, to an expression, or to something opaque (None)."""

    parent: Scope | None
    bindings: dict[str, list[str | ast.expr | None]] = field(default_factory=lambda: defaultdict(list))
    aliased: set[ast.Name] = field(default_factory=set)
    """Assignment targets whose meaning is already in `bindings`."""


def resolve_names(tree: ast.Module) -> dict[ast.AST, str]:
    """The canonical dotted name of every Name and Attribute that leads to an import."""
    scope_of, stars = _read_scopes(tree)
    reader = _Reader(scope_of, stars)
    resolved: dict[ast.AST, str] = {}
    for node in scope_of:
        if isinstance(node, (ast.Name, ast.Attribute)):
            dotted = reader.resolve(node)
            if dotted is not None:
                resolved[node] = dotted
    return resolved


def canonical(dotted: str) -> str:
    """One spelling for names that Triton offers under several paths."""
    for inner in ("triton.language.core.", "triton.language.standard."):
        if dotted.startswith(inner):
            dotted = "triton.language." + dotted[len(inner) :]
    return MOVED.get(dotted, dotted)


@dataclass
class _Reader:
    scope_of: dict[ast.AST, Scope]
    stars: list[str]
    known: dict[tuple[int, str], str | None] = field(default_factory=dict)

    def resolve(self, node: ast.expr) -> str | None:
        attributes: list[str] = []
        root = node
        while isinstance(root, ast.Attribute):
            attributes.append(root.attr)
            root = root.value
        start = self._lookup(root) if isinstance(root, ast.Name) else None
        return None if start is None else canonical(".".join([start, *reversed(attributes)]))

    def _lookup(self, name: ast.Name) -> str | None:
        scope: Scope | None = self.scope_of[name]
        while scope is not None:
            if name.id in scope.bindings:
                return self._meaning(scope, name.id)
            scope = scope.parent
        if "triton.language" in self.stars and name.id in LANGUAGE_NAMES:
            return f"triton.language.{name.id}"
        return None

    def _meaning(self, scope: Scope, name: str) -> str | None:
        """The first binding, unless one of them leads nowhere; what is being resolved counts as nowhere."""
        key = (id(scope), name)
        if key not in self.known:
            self.known[key] = None
            bindings = scope.bindings[name]
            meanings = [b if isinstance(b, str) or b is None else self.resolve(b) for b in bindings]
            self.known[key] = meanings[0] if meanings and None not in meanings else None
        return self.known[key]


def _read_scopes(tree: ast.Module) -> tuple[dict[ast.AST, Scope], list[str]]:
    """Give every node its scope and every scope its bindings; iterative, since sources can be deep."""
    scope_of: dict[ast.AST, Scope] = {}
    stars: list[str] = []
    module = Scope(None)
    waiting: list[tuple[ast.AST, Scope]] = [(child, module) for child in reversed(tree.body)]
    while waiting:
        node, outer = waiting.pop()
        scope_of[node] = outer
        _bind(node, outer, stars)
        inner = Scope(outer) if isinstance(node, SCOPES) else outer
        outside = _outside(node)
        children = reversed(list(ast.iter_child_nodes(node)))
        waiting.extend((child, outer if child in outside else inner) for child in children)
    return scope_of, stars


def _outside(node: ast.AST) -> set[ast.expr]:
    """Decorators, and bases of classes, belong to the scope outside."""
    if isinstance(node, ast.ClassDef):
        return {*node.decorator_list, *node.bases}
    return set(node.decorator_list) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else set()


def _bind(node: ast.AST, scope: Scope, stars: list[str]) -> None:
    bindings = scope.bindings
    if isinstance(node, ast.Import):
        for alias in node.names:
            meaning = alias.name if alias.asname else alias.name.partition(".")[0]
            bindings[alias.asname or meaning].append(meaning)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            if alias.name == "*":
                stars.append(node.module or "")
            else:
                dotted = f"{'.' * node.level}{node.module or ''}.{alias.name}"
                bindings[alias.asname or alias.name].append(canonical(dotted))
    elif isinstance(node, ast.Assign):
        _bind_assignment(node, scope)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        bindings[node.name].append(None)
    elif isinstance(node, ast.arg):
        bindings[node.arg].append(None)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in scope.aliased:
        bindings[node.id].append(None)


def _bind_assignment(node: ast.Assign, scope: Scope) -> None:
    """`tl = triton.language` is an alias; `tl = None` in an `except ImportError` changes nothing."""
    value = node.value
    alias = isinstance(value, (ast.Name, ast.Attribute))
    absent = isinstance(value, ast.Constant) and value.value is None
    for target in node.targets:
        if isinstance(target, ast.Name) and (alias or absent):
            scope.aliased.add(target)
            if alias:
                scope.bindings[target.id].append(value)
