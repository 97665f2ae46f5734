"""The decorators that fill in meta-parameters: `@triton.autotune` and `@triton.heuristics`."""

from __future__ import annotations

import ast

from tilesmith.lint.model.sizes.config_lists import ConfigLists
from tilesmith.lint.model.source import Autotune
from tilesmith.lint.model.syntax.names import Imports
from tilesmith.lint.model.syntax.scopes import Scope, assigned, home_of, scope_of
from tilesmith.lint.model.syntax.tree import SyntaxTree


def find_autotune(function: ast.FunctionDef, syntax: SyntaxTree, imports: Imports) -> Autotune | None:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and imports.get(decorator.func) == "triton.autotune":
            return _read_autotune(decorator, syntax, imports)
    return None


def find_heuristics(function: ast.FunctionDef, imports: Imports) -> frozenset[str] | None:
    """Names of the dict handed to each `@triton.heuristics`."""
    filled: set[str] = set()
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and imports.get(decorator.func) == "triton.heuristics":
            given = [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
            names = _constant_keys(given[0]) if given else None
            if names is None:
                return None
            filled |= names
    return frozenset(filled)


def _constant_keys(value: ast.expr) -> set[str] | None:
    if not isinstance(value, ast.Dict):
        return None
    keys = [key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return set(keys) if len(keys) == len(value.keys) else None


def _read_autotune(decorator: ast.Call, syntax: SyntaxTree, imports: Imports) -> Autotune:
    given = {keyword.arg: keyword.value for keyword in decorator.keywords if keyword.arg}
    given |= dict(zip(("configs", "key"), decorator.args, strict=False))
    scope = scope_of(decorator, syntax)
    space = ConfigLists(syntax, imports).read(given.get("configs"), scope)
    return Autotune(
        decorator=decorator,
        configs=space.configs,
        complete=space.complete and "prune_configs_by" not in given,
        count=space.count,
        key=_key(given.get("key"), scope, syntax),
    )


def _key(value: ast.AST | None, scope: Scope, syntax: SyntaxTree) -> tuple[str, ...] | None:
    if value is None:
        return ()
    if isinstance(value, ast.Name) and (home := home_of(value.id, scope, syntax)) is not None:
        values = assigned(value.id, home)
        value = values[0] if len(values) == 1 else value
    if not isinstance(value, (ast.List, ast.Tuple)):
        return None
    names = [e.value for e in value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return tuple(names) if len(names) == len(value.elts) else None
