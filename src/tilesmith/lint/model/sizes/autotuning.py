"""The decorators that fill in meta-parameters: `@triton.autotune` with its configs, and `@triton.heuristics`.

Configs are written out, comprehended, appended in loops, or returned by a function.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilesmith.lint.model.source import Autotune, AutotuneConfig
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.model.syntax.names import Imports
from tilesmith.lint.model.syntax.scopes import Scope, assigned, function_named, home_of, own_statements, scope_of
from tilesmith.lint.model.syntax.tree import SyntaxTree

DEEPEST_LOOK = 6
"""Names and calls followed from a decorator to its configs."""
POSITIONAL_OPTIONS = ("num_warps", "num_stages")
SAME_LENGTH = frozenset({"list", "tuple", "sorted", "enumerate", "reversed"})


@dataclass(frozen=True)
class ConfigSpace:
    """What is known of a list of configs."""

    configs: tuple[AutotuneConfig, ...]
    complete: bool
    """Nothing else can be in it."""
    count: int | None


UNREADABLE = ConfigSpace((), False, None)


class ConfigLists:
    """Follows expressions to the `triton.Config(...)` calls they are made of."""

    def __init__(self, syntax: SyntaxTree, imports: Imports) -> None:
        self.syntax, self.imports = syntax, imports

    def read(self, value: ast.AST | None, scope: Scope, depth: int = DEEPEST_LOOK) -> ConfigSpace:
        if depth == 0:
            return UNREADABLE
        match value:
            case ast.List() | ast.Tuple():
                return _joined([self.read(element, scope, depth) for element in value.elts])
            case ast.Starred():
                return self.read(value.value, scope, depth)
            case ast.ListComp() | ast.GeneratorExp():
                inner = self.read(value.elt, scope, depth)
                count = _product([inner.count, self._turns(value, scope)])
                return ConfigSpace(inner.configs, inner.complete, count)
            case ast.BinOp(op=ast.Add()):
                return _joined([self.read(side, scope, depth) for side in (value.left, value.right)])
            case ast.IfExp():
                return _either([self.read(side, scope, depth) for side in (value.body, value.orelse)])
            case ast.Call():
                return self._read_call(value, scope, depth)
            case ast.Name(id=name):
                return self._read_name(name, scope, depth)
        return UNREADABLE

    def _read_call(self, call: ast.Call, scope: Scope, depth: int) -> ConfigSpace:
        if self.imports.get(call.func) == "triton.Config":
            return self._read_config(call, scope)
        if not isinstance(call.func, ast.Name):
            return UNREADABLE
        if call.func.id in SAME_LENGTH and len(call.args) == 1:
            return self.read(call.args[0], scope, depth)
        function = function_named(call.func.id, scope, self.syntax)
        if function is None:
            return UNREADABLE
        returns = [node for node in own_statements(function) if isinstance(node, ast.Return)]
        return _either([self.read(node.value, function, depth - 1) for node in returns])

    def _read_name(self, name: str, scope: Scope, depth: int) -> ConfigSpace:
        """All that is assigned to the name, and what is appended to it on the way."""
        home = home_of(name, scope, self.syntax)
        if home is None:
            return UNREADABLE
        base = _either([self.read(value, home, depth - 1) for value in assigned(name, home)])
        grown = [
            self._repeated(node, self.read(added, home, depth - 1), home)
            for node in own_statements(home)
            if (added := _added_to(node, name)) is not None
        ]
        return _joined([base, *grown])

    def _repeated(self, node: ast.AST, space: ConfigSpace, scope: Scope) -> ConfigSpace:
        """One `append` in loops runs many times; under an `if` nobody knows how often."""
        count = space.count
        for above in self.syntax.ancestors(node):
            if above is scope:
                break
            if isinstance(above, (ast.If, ast.While, ast.Try)):
                count = None
            elif isinstance(above, ast.For):
                count = _product([count, self._length(above.iter, scope)])
        return ConfigSpace(space.configs, space.complete, count)

    def _turns(self, made: ast.ListComp | ast.GeneratorExp, scope: Scope) -> int | None:
        if any(generator.ifs for generator in made.generators):
            return None
        return _product([self._length(generator.iter, scope) for generator in made.generators])

    def _length(self, value: ast.AST, scope: Scope, depth: int = DEEPEST_LOOK) -> int | None:
        match value:
            case ast.List() | ast.Tuple() | ast.Set():
                starred = any(isinstance(element, ast.Starred) for element in value.elts)
                return None if starred else len(value.elts)
            case ast.ListComp() | ast.GeneratorExp():
                return self._turns(value, scope)
            case ast.Call() if self.imports.get(value.func) == "itertools.product":
                return _product([self._length(argument, scope, depth) for argument in value.args])
            case ast.Call(func=ast.Name(id="range"), keywords=[]):
                return _range_length(value.args)
            case ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in SAME_LENGTH:
                return self._length(inner, scope, depth)
            case ast.Name(id=name) if depth and (home := home_of(name, scope, self.syntax)) is not None:
                values = assigned(name, home)
                return self._length(values[0], home, depth - 1) if len(values) == 1 else None
        return None

    def _read_config(self, call: ast.Call, scope: Scope) -> ConfigSpace:
        meta: ast.AST | None = next((k.value for k in call.keywords if k.arg == "kwargs"), None)
        meta = call.args[0] if call.args and meta is None else meta
        if isinstance(meta, ast.Name) and (home := home_of(meta.id, scope, self.syntax)) is not None:
            values = assigned(meta.id, home)
            meta = values[0] if len(values) == 1 else meta
        entries = _entries(meta)
        options = dict(zip(POSITIONAL_OPTIONS, call.args[1:], strict=False))
        options |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        options.pop("kwargs", None)
        unpacked = any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args)
        whole = entries is not None and None not in entries.values() and not unpacked
        known = {name: value for name, value in (entries or {}).items() if value is not None}
        return ConfigSpace((AutotuneConfig(call, known, options),), whole, 1)


def _entries(meta: ast.AST | None) -> dict[str, ast.expr | None] | None:
    """Meta-parameters of `{"BLOCK": 64}` or `dict(BLOCK=64)`; None for a value that hides."""
    match meta:
        case ast.Dict():
            pairs = zip(meta.keys, meta.values, strict=True)
            named = [(k.value, v) for k, v in pairs if isinstance(k, ast.Constant) and isinstance(k.value, str)]
            found: dict[str, ast.expr | None] = dict(named)
            return found if len(found) == len(meta.keys) else {**found, "": None}
        case ast.Call(func=ast.Name(id="dict"), args=[]):
            return {keyword.arg or "": keyword.value if keyword.arg else None for keyword in meta.keywords}
    return None


def _added_to(node: ast.AST, name: str) -> ast.expr | None:
    """What `name.append(x)`, `name.extend(xs)` or `name += xs` adds."""
    match node:
        case ast.AugAssign(target=ast.Name(id=target), op=ast.Add(), value=value) if target == name:
            return value
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method), args=[added])):
            return added if owner == name and method in ("append", "extend") else None
    return None


def _joined(spaces: Sequence[ConfigSpace]) -> ConfigSpace:
    """One list after the other."""
    counts = [space.count for space in spaces]
    total = None if None in counts else sum(count or 0 for count in counts)
    return ConfigSpace(_all_configs(spaces), all(space.complete for space in spaces), total)


def _either(spaces: Sequence[ConfigSpace]) -> ConfigSpace:
    """One list or the other; the smaller count is what there is at least."""
    counts = [space.count for space in spaces]
    least = None if None in counts or not counts else min(count or 0 for count in counts)
    return ConfigSpace(_all_configs(spaces), bool(spaces) and all(s.complete for s in spaces), least)


def _all_configs(spaces: Sequence[ConfigSpace]) -> tuple[AutotuneConfig, ...]:
    return tuple(config for space in spaces for config in space.configs)


def _product(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else None


def _range_length(arguments: Sequence[ast.expr]) -> int | None:
    numbers = [a.value for a in arguments if isinstance(a, ast.Constant) and type(a.value) is int]
    if len(numbers) != len(arguments) or not numbers or (len(numbers) == 3 and numbers[2] == 0):
        return None
    return len(range(*numbers))


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
            given = all_arguments(decorator)
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
