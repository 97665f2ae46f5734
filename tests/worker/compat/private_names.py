"""Finds in a module's text every use of a private name of torch or triton, and every patch of the two.

Private is
- a dotted path below torch or triton with a part that begins with an underscore (dunder names are not meant);
- a module below triton other than `triton.language` and `triton.testing`, and whatever it holds;
- `torch.overrides` and its hooks, which are documented, but change like private ones;
- an attribute or keyword that begins with an underscore, of an object that the module did not define itself;
- a string that is one of these paths, or the last part of one that `worker.compat` lists.

A patch is an assignment to an attribute, or a `setattr`, whose owner is a module or class of the two, whether it is
reached by its own path or through `worker.compat`. A `setattr` whose owner cannot be told counts as one. Settings
below `torch.backends` are made to be assigned to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

from tilesmith.worker.compat.name_table import OPTIONAL, REQUIRED

COMPAT = "tilesmith.worker.compat"
LIBRARIES = ("torch", "triton")
PUBLIC_TRITON = ("triton", "triton.language", "triton.testing")
HOOKS = "torch.overrides"
SETTINGS = "torch.backends."
BY_STRING = ("getattr", "setattr", "hasattr", "delattr", "object")
"""Functions that take an owner and an attribute's name; `object` is that of mock.patch."""
NAMED_TUPLES = {"_fields", "_replace", "_asdict"}
_LISTED = {
    last
    for name in (*OPTIONAL, *(name for names in REQUIRED.values() for name in names))
    if (last := name.rpartition(".")[2]).startswith("_") and not last.startswith("__")
}
DOTTED = re.compile(r"(torch|triton)(\.\w+)+")


def findings(text: str, with_strings: bool = True) -> Iterator[str]:
    """`line: what` for each use. Strings do not count in a module that only reads and writes kernels' texts."""
    scan = _Scan(ast.parse(text), with_strings)
    for node in ast.walk(scan.tree):
        for what in scan.judge(node):
            yield f"{getattr(node, 'lineno', 0)}: {what}"


def is_private(path: str) -> bool:
    parts = path.split(".")
    if parts[0] not in LIBRARIES:
        return False
    if any(part.startswith("_") and not part.startswith("__") for part in parts):
        return True
    if f"{path}.".startswith(f"{HOOKS}."):
        return True
    modules = [".".join(parts[:end]) for end in range(2, len(parts) + 1)]
    return parts[0] == "triton" and any(m not in PUBLIC_TRITON and _is_module(m) for m in modules)


def _names_private(text: str) -> bool:
    return text in _LISTED or (DOTTED.fullmatch(text) is not None and is_private(text))


@cache
def _is_module(path: str) -> bool:
    try:
        return find_spec(path) is not None
    except (ImportError, ValueError, AttributeError):
        return False


class _Scan:
    def __init__(self, tree: ast.Module, with_strings: bool) -> None:
        self.tree, self._with_strings = tree, with_strings
        self._paths: dict[str, str] = {}
        """Names of this module to what they stand for: `tl` to `triton.language`."""
        self._modules: set[str] = set()
        self._own: set[str] = set()
        self._docstrings: set[int] = set()
        for node in ast.walk(tree):
            self._read_definition(node)
        for node in ast.walk(tree):
            self._read_alias(node)

    def judge(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (f"imports {path}" for path in _imported(node).values() if is_private(path))
        elif isinstance(node, ast.Attribute):
            yield from self._judge_attribute(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in self._docstrings:
            if self._with_strings and _names_private(node.value):
                yield f"names {node.value}"
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            if self._with_strings and str(node.values[0].value).startswith(("torch.", "triton.")):
                yield "names a module of torch or triton by a made-up string"
        elif isinstance(node, ast.Call):
            yield from self._judge_call(node)
        for target in _targets(node):
            if isinstance(target, ast.Attribute) and self._is_library(target.value):
                path = f"{self.path(target.value)}.{target.attr}"
                if not path.startswith(SETTINGS):
                    yield f"assigns to {path}"

    def path(self, node: ast.expr) -> str | None:
        """The dotted path that an expression stands for, as far as it begins with an imported name."""
        if isinstance(node, ast.Name):
            return self._paths.get(node.id)
        if isinstance(node, ast.Attribute) and (base := self.path(node.value)) is not None:
            return f"{base}.{node.attr}"
        return None

    def _is_library(self, node: ast.expr) -> bool:
        path = self.path(node) or ""
        return path.split(".")[0] in LIBRARIES or (path.startswith(COMPAT) and path.count(".") > COMPAT.count("."))

    def _judge_attribute(self, node: ast.Attribute) -> Iterator[str]:
        path = self.path(node)
        if path is not None:
            private_here = is_private(path) and not is_private(path.rpartition(".")[0])
            through_compat = path.startswith(COMPAT) and re.search(r"\._[^_]\w*$", path)
            if private_here or through_compat:
                yield f"reads {path}"
        elif self._is_unknown(node.attr) and not self._is_foreign_module(node.value):
            yield f"reads the private attribute {node.attr} of an object that is not its own"

    def _is_unknown(self, name: str | None) -> bool:
        return bool(name and re.match(r"_[^_]", name)) and name not in self._own | NAMED_TUPLES

    def _is_foreign_module(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self._modules

    def _judge_call(self, node: ast.Call) -> Iterator[str]:
        function = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if function in BY_STRING and node.args:
            owner = self.path(node.args[0]) or ""
            name = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else ""
            if self._is_library(node.args[0]) and is_private(f"{owner}.{name}"):
                yield f"asks for {owner}.{name}"
            if function in ("setattr", "delattr", "object") and self._is_library(node.args[0]):
                yield f"patches {owner}"
            elif function in ("setattr", "delattr") and ast.unparse(node.args[0]) != "self":
                yield f"patches {ast.unparse(node.args[0])}, whatever that is"
        if function == "vars" and node.args and is_private(self.path(node.args[0]) or ""):
            yield f"looks through {self.path(node.args[0])}"
        for keyword in node.keywords:
            if self._is_unknown(keyword.arg):
                yield f"passes the private keyword {keyword.arg}"

    def _read_definition(self, node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            self._own.add(node.name)
        if isinstance(node, ast.arg):
            self._own.add(node.arg)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    self._docstrings.add(id(statement.value))
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, path in _imported(node).items():
                if path.split(".")[0] in LIBRARIES or path.startswith(COMPAT):
                    self._paths[name] = path
                else:
                    self._modules.add(name)
        for target in _targets(node):
            if isinstance(target, ast.Name):
                self._own.add(target.id)
            elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                self._own |= {target.attr} if target.value.id in ("self", "cls") else set()

    def _read_alias(self, node: ast.AST) -> None:
        """`tensor: Any = tl.tensor`, and `for kind in (tl.dtype, tl.block_type)`."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            pairs = [(node.targets[0], node.value)]
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple) and node.iter.elts:
            pairs = [(node.target, node.iter.elts[0])]
        else:
            return
        for target, value in pairs:
            if isinstance(target, ast.Name) and (path := self.path(value)) is not None:
                self._paths[target.id] = path


def _imported(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return {
        alias.asname or alias.name.split(".")[0]: alias.name if alias.asname else alias.name.split(".")[0]
        for alias in node.names
    } | {alias.name: alias.name for alias in node.names if "." in alias.name}


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        found = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        found = [node.target]
    elif isinstance(node, ast.Delete):
        found = node.targets
    else:
        return []
    return [part for one in found for part in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]
