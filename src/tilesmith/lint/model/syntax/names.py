"""Which import a name leads to: `ld` is `triton.language.load`, wherever and however it was imported."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.vocabulary import LANGUAGE_NAMES

MOVED = {
    "triton.runtime.jit.jit": "triton.jit",
    "triton.runtime.jit": "triton.jit",
    "triton.experimental.gluon.jit": "triton.jit",
    "triton.runtime.autotuner.autotune": "triton.autotune",
    "triton.runtime.autotune": "triton.autotune",
    "triton.runtime.autotuner.heuristics": "triton.heuristics",
    "triton.runtime.autotuner.Config": "triton.Config",
}
INNER = {
    "triton.language.core.": "triton.language.",
    "triton.language.standard.": "triton.language.",
    "torch._inductor.runtime.triton_helpers.libdevice.": "triton.language.extra.libdevice.",
    "torch._inductor.runtime.triton_helpers.math.": "triton.language.math.",
}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
Meaning = str | ast.expr | None
"""A dotted import, an expression that may lead to one, or something opaque."""


@dataclass
class NameScope:
    """Names bound in one scope."""

    parent: NameScope | None
    is_class: bool = False
    bindings: dict[str, list[Meaning]] = field(default_factory=dict)
    aliased: set[ast.Name] = field(default_factory=set)
    """Assignment targets whose meaning is already in `bindings`."""

    def bind(self, name: str, meaning: Meaning) -> None:
        self.bindings.setdefault(name, []).append(meaning)


@dataclass
class Names:
    """What every name of a file leads to."""

    scope_of: dict[ast.AST, NameScope]
    module: NameScope
    stars: list[str]
    """Modules imported with `*`."""
    dotted: dict[ast.AST, str] = field(default_factory=dict)
    """Canonical dotted name of each Name and Attribute that leads to an import."""
    _known: dict[tuple[int, str], str | None] = field(default_factory=dict)

    def scope_binding(self, name: ast.Name) -> NameScope | None:
        """The scope in which Python would find this name; None for builtins and for what nobody binds."""
        scope: NameScope | None = self.scope_of[name]
        innermost = True
        while scope is not None:
            if name.id in scope.bindings and (innermost or not scope.is_class):
                return scope
            scope, innermost = scope.parent, False
        return None

    def resolve(self, node: ast.expr) -> str | None:
        attributes: list[str] = []
        root = node
        while isinstance(root, ast.Attribute):
            attributes.append(root.attr)
            root = root.value
        start = self._lookup(root) if isinstance(root, ast.Name) else None
        return None if start is None else canonical(".".join([start, *reversed(attributes)]))

    def _lookup(self, name: ast.Name) -> str | None:
        scope = self.scope_binding(name)
        if scope is not None:
            return self._meaning(scope, name.id)
        if "triton.language" in self.stars and name.id in LANGUAGE_NAMES:
            return f"triton.language.{name.id}"
        return None

    def _meaning(self, scope: NameScope, name: str) -> str | None:
        """The first binding, unless one of them leads nowhere; what is being resolved counts as nowhere."""
        key = (id(scope), name)
        if key not in self._known:
            self._known[key] = None
            bindings = scope.bindings[name]
            meanings = [b if isinstance(b, str) or b is None else self.resolve(b) for b in bindings]
            self._known[key] = meanings[0] if meanings and None not in meanings else None
        return self._known[key]


def resolve_names(syntax: SyntaxTree) -> Names:
    """Give every node its scope, every scope its bindings, and every name its meaning."""
    module = NameScope(None)
    names = Names({}, module, [])
    _read_scopes(syntax, names)
    for node in syntax.nodes:
        if type(node) is ast.Name or type(node) is ast.Attribute:
            meaning = names.resolve(node)
            if meaning is not None:
                names.dotted[node] = meaning
    return names


def canonical(dotted: str) -> str:
    """One spelling for names that Triton offers under several paths."""
    for inner, usual in INNER.items():
        if dotted.startswith(inner):
            dotted = usual + dotted[len(inner) :]
    return MOVED.get(dotted, dotted)


def _read_scopes(syntax: SyntaxTree, names: Names) -> None:
    """Parents come first, so each node's scope is known from its parent's."""
    within: dict[ast.AST, NameScope] = {syntax.tree: names.module}
    outside: dict[ast.AST, NameScope] = {}
    for node in syntax.nodes[1:]:
        parent = syntax.parents[node]
        scope = outside.get(node) or within[parent]
        names.scope_of[node] = scope
        if type(node) in BINDING:
            _bind(node, scope, names)
        if isinstance(node, SCOPES):
            within[node] = NameScope(scope, isinstance(node, ast.ClassDef))
            outside |= dict.fromkeys(_outside(node), scope)
        else:
            within[node] = scope


BINDING = frozenset(
    {
        ast.Import,
        ast.ImportFrom,
        ast.Assign,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.arg,
        ast.Name,
        ast.Global,
        ast.ExceptHandler,
        ast.MatchAs,
        ast.MatchStar,
        ast.MatchMapping,
    }
)


def _outside(node: ast.AST) -> list[ast.AST]:
    """Decorators, bases of classes, defaults and annotations belong to the scope outside."""
    match node:
        case ast.ClassDef():
            return [*node.decorator_list, *node.bases, *node.keywords]
        case ast.Lambda():
            return _defaults(node.args)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            given = node.args
            arguments = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
            annotations = [node.returns, *(argument.annotation for argument in arguments if argument)]
            return [*node.decorator_list, *_defaults(given), *(part for part in annotations if part)]
    return []


def _defaults(given: ast.arguments) -> list[ast.AST]:
    return [*given.defaults, *(default for default in given.kw_defaults if default)]


def _bind(node: ast.AST, scope: NameScope, names: Names) -> None:
    match node:
        case ast.Name():
            if type(node.ctx) is not ast.Load and node not in scope.aliased:
                scope.bind(node.id, None)
        case ast.Import():
            for alias in node.names:
                meaning = alias.name if alias.asname else alias.name.partition(".")[0]
                scope.bind(alias.asname or meaning, meaning)
        case ast.ImportFrom():
            _bind_from(node, scope, names)
        case ast.Assign():
            _bind_assignment(node, scope)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            scope.bind(node.name, None)
        case ast.arg():
            scope.bind(node.arg, None)
        case ast.Global():
            for name in node.names:
                names.module.bind(name, None)
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            scope.bind(name, None)
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            scope.bind(name, None)


def _bind_from(node: ast.ImportFrom, scope: NameScope, names: Names) -> None:
    for alias in node.names:
        if alias.name == "*":
            names.stars.append(node.module or "")
        else:
            dotted = f"{'.' * node.level}{node.module or ''}.{alias.name}"
            scope.bind(alias.asname or alias.name, canonical(dotted))


def _bind_assignment(node: ast.Assign, scope: NameScope) -> None:
    """`tl = triton.language` is an alias; `tl = None` in an `except ImportError` changes nothing."""
    value = node.value
    alias = isinstance(value, (ast.Name, ast.Attribute))
    absent = isinstance(value, ast.Constant) and value.value is None
    for target in node.targets:
        if isinstance(target, ast.Name) and (alias or absent):
            scope.aliased.add(target)
            if isinstance(value, (ast.Name, ast.Attribute)):
                scope.bind(target.id, value)
            else:
                scope.bindings.setdefault(target.id, [])


Imports = Mapping[ast.AST, str]
