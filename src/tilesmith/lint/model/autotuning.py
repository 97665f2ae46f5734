"""The decorators that fill in meta-parameters: `@triton.autotune` and `@triton.heuristics`."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from tilesmith.lint.model.names import Imports
from tilesmith.lint.model.source import Autotune, Config
from tilesmith.lint.model.syntax import Syntax

OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook", "ir_override", "kwargs"})
DEEPEST_LOOK = 4
"""Names followed from a decorator to its list of configs."""


def find_autotune(function: ast.FunctionDef, syntax: Syntax, imports: Imports) -> Autotune | None:
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


def _read_autotune(decorator: ast.Call, syntax: Syntax, imports: Imports) -> Autotune:
    given = {keyword.arg: keyword.value for keyword in decorator.keywords if keyword.arg}
    given |= dict(zip(("configs", "key"), decorator.args, strict=False))
    reader = _ConfigReader(syntax, imports)
    configs = reader.configs(given.get("configs"), DEEPEST_LOOK)
    return Autotune(
        line=decorator.lineno,
        configs=tuple(configs),
        complete=reader.complete and "prune_configs_by" not in given,
        count=reader.count(given.get("configs"), DEEPEST_LOOK),
        key=_key(given.get("key")),
    )


def _key(value: ast.expr | None) -> tuple[str, ...] | None:
    if value is None:
        return ()
    if not isinstance(value, (ast.List, ast.Tuple)):
        return None
    names = [e.value for e in value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return tuple(names) if len(names) == len(value.elts) else None


class _ConfigReader:
    """Follows an expression to the `triton.Config(...)` calls it is made of."""

    def __init__(self, syntax: Syntax, imports: Imports) -> None:
        self.syntax, self.imports = syntax, imports
        self.complete = True

    def configs(self, value: ast.expr | None, depth: int) -> list[Config]:
        match value:
            case ast.List() | ast.Tuple():
                return [config for element in value.elts for config in self.configs(element, depth)]
            case ast.ListComp() | ast.GeneratorExp():
                return self.configs(value.elt, depth)
            case ast.BinOp(op=ast.Add()):
                return self.configs(value.left, depth) + self.configs(value.right, depth)
            case ast.Call() if self.imports.get(value.func) == "triton.Config":
                return [self._config(value)]
            case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name) if depth:
                lists = self._behind(name)
                self.complete = self.complete and len(lists) == 1
                return [config for found in lists for config in self.configs(found, depth - 1)]
        self.complete = False
        return []

    def _config(self, call: ast.Call) -> Config:
        meta = next((k.value for k in call.keywords if k.arg == "kwargs"), call.args[0] if call.args else None)
        entries: dict[str, ast.expr] = {}
        if isinstance(meta, ast.Dict):
            pairs = zip(meta.keys, meta.values, strict=True)
            entries = {k.value: v for k, v in pairs if isinstance(k, ast.Constant) and isinstance(k.value, str)}
        if not isinstance(meta, ast.Dict) or len(entries) != len(meta.keys):
            self.complete = False
        options = {k.arg: k.value for k in call.keywords if k.arg and k.arg != "kwargs"}
        return Config(call, entries, options)

    def _behind(self, name: str) -> list[ast.expr]:
        """Values assigned to the name, or returned by the function of that name."""
        found: list[ast.expr] = []
        for node in self.syntax.nodes:
            if isinstance(node, ast.Assign) and any(_is_name(target, name) for target in node.targets):
                found.append(node.value)
            elif isinstance(node, ast.FunctionDef) and node.name == name:
                returns = self.syntax.of_type(ast.Return, node)
                found += [r.value for r in returns if r.value is not None]
        return found

    def count(self, value: ast.expr | None, depth: int) -> int | None:
        """How many configs; None when a size in between cannot be read."""
        match value:
            case ast.List() | ast.Tuple():
                return _total([self.count(element, depth) for element in value.elts])
            case ast.ListComp() | ast.GeneratorExp():
                unfiltered = not any(generator.ifs for generator in value.generators)
                sizes = [self._length(g.iter, depth) for g in value.generators] if unfiltered else [None]
                return _product(sizes)
            case ast.BinOp(op=ast.Add()):
                return _total([self.count(value.left, depth), self.count(value.right, depth)])
            case ast.Call() if self.imports.get(value.func) == "triton.Config":
                return 1
            case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name) if depth:
                lists = self._behind(name)
                return self.count(lists[0], depth - 1) if len(lists) == 1 else None
        return None

    def _length(self, value: ast.expr, depth: int) -> int | None:
        match value:
            case ast.List() | ast.Tuple():
                return len(value.elts)
            case ast.Call() if self.imports.get(value.func) == "itertools.product":
                return _product([self._length(argument, depth) for argument in value.args])
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as size)]):
                return size
            case ast.Name(id=name) if depth:
                lists = self._behind(name)
                return self._length(lists[0], depth - 1) if len(lists) == 1 else None
        return None


def _is_name(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _total(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _product(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else None
