"""Functions of PyTorch, Triton and Python's clock, replaced for everybody in the process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.vocabulary import PROCESS_SWITCHES, words
from tilesmith.records import Finding

RUNTIMES = words("torch triton time timeit builtins numpy math random gc inspect tilesmith torchvision")
MODULE_TABLE = "sys.modules"
TABLE_WRITES = frozenset({"pop", "update", "setdefault", "__setitem__", "clear", "popitem"})


@first_on_each_line
def patched_runtime(source: KernelSource) -> Iterator[Finding]:
    """Who measures or compares with them afterwards measures what this file wants."""
    for node, dotted in source.names.dotted.items():
        name = _patched(node, dotted, source)
        if name and isinstance(node, ast.expr) and not _adds_missing(node, source) and source.runs(node):
            message = f"{name} is replaced for the whole process: keep your own version under a name of your own"
            yield warning("patched-runtime", node.lineno, message)


def _patched(node: ast.AST, dotted: str, source: KernelSource) -> str:
    """What is replaced where this name stands; empty for nothing."""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return dotted if _is_runtime(dotted) else ""
    parent = source.syntax.parents[node]
    match parent:
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()) if value is node:
            table = dotted == MODULE_TABLE or (dotted.endswith(".__dict__") and _is_runtime(dotted))
            return dotted if table else ""
        case ast.Call(func=function) if function is node:
            return _called(parent, dotted, source)
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[first, *_]) if first is node:
            return dotted if _is_runtime(f"{dotted}.") else ""
    return ""


def _called(call: ast.Call, dotted: str, source: KernelSource) -> str:
    owner, _, method = dotted.rpartition(".")
    if owner == MODULE_TABLE:
        return MODULE_TABLE if method in TABLE_WRITES else ""
    if not dotted.startswith("unittest.mock.patch") or not call.args:
        return ""
    match call.args[0]:
        case ast.Constant(value=str() as target):
            return target if _is_runtime(target) else ""
        case target_node:
            target = source.dotted(target_node) or ""
            return target if _is_runtime(f"{target}.") or target == MODULE_TABLE else ""


def _is_runtime(dotted: str) -> bool:
    return dotted.partition(".")[0] in RUNTIMES and "." in dotted and not dotted.startswith(PROCESS_SWITCHES)


def _adds_missing(node: ast.AST, source: KernelSource) -> bool:
    """`if not hasattr(tl, "x"): tl.x = ...` lends an old release what newer ones have."""
    for above in source.syntax.ancestors(node):
        if isinstance(above, ast.If) and any(
            isinstance(n, ast.Name) and n.id == "hasattr" for n in source.syntax.inside(above.test)
        ):
            return True
        if isinstance(above, ast.ExceptHandler) and isinstance(above.type, ast.Name):
            return above.type.id in ("AttributeError", "ImportError")
    return False
