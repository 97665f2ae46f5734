"""The names that a file binds for its whole module, and those that it must leave to the judge."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilesmith.errors import ProjectError

JUDGED = ("Model", "ModelNew", "get_inputs", "get_init_inputs")
"""Names that a task or a kernel must have for the judge; its own helpers begin with `judged_`."""


class BoundName(NamedTuple):
    name: str
    line: int
    is_global: bool
    """Declared so by a function."""


def bound_names(tree: ast.Module) -> Iterator[BoundName]:
    for node in _module_code(tree):
        for name in _bound(node):
            yield BoundName(name, getattr(node, "lineno", 0), isinstance(node, ast.Global))


def require_free_names(tree: ast.Module, file: str = "") -> None:
    """Raises ProjectError where a file binds a name that the judge's own text binds, too."""
    for one in bound_names(tree):
        if one.name in JUDGED or one.name.startswith("judged_"):
            raise ProjectError(f"{file}line {one.line}: {one.name} is a name that the judge uses; choose another")


def _module_code(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that can bind a name of the module: of functions and classes, only what declares it global."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from (one for one in ast.walk(node) if isinstance(one, ast.Global))
        else:
            yield from _module_code(node)


def _bound(node: ast.AST) -> Sequence[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.alias():
            return [(node.asname or node.name).split(".")[0]]
        case ast.Global():
            return node.names
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
    return []
