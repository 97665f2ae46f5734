"""From a candidate's text to a `KernelSource`, or to the line on which it stops being Python."""

from __future__ import annotations

import ast
import warnings

from tilesmith.lint.compilation import surely_compiled
from tilesmith.lint.kernels import find_jit_functions
from tilesmith.lint.launches import find_launches
from tilesmith.lint.names import resolve_names
from tilesmith.lint.reach import live_functions
from tilesmith.lint.source import KernelSource, KernelSyntaxError

LARGEST_SOURCE_CHARACTERS = 300_000
MODEL_CLASS = "ModelNew"
NAME_MAKERS = frozenset({"exec", "eval", "globals", "setattr", "vars", "locals"})


def read_kernel(text: str) -> KernelSource:
    """Parse once; never imports or runs what it reads.

    Raises KernelSyntaxError for anything that Python, or we, cannot read.
    """
    tree = _parse(text)
    try:
        return _read(text, tree)
    except RecursionError:
        raise KernelSyntaxError(None, "nested too deeply to read") from None


def _read(text: str, tree: ast.Module) -> KernelSource:
    nodes = tuple(ast.walk(tree))
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    names = resolve_names(tree)
    jit_functions = find_jit_functions(nodes, names)
    launches = find_launches(nodes, names, parents, jit_functions)
    live = live_functions(tree, MODEL_CLASS)
    return KernelSource(
        text=text,
        tree=tree,
        nodes=nodes,
        names=names,
        parents=parents,
        jit_functions=jit_functions,
        launches=launches,
        classes=tuple(node for node in nodes if isinstance(node, ast.ClassDef)),
        has_model_class=any(_may_bind_model(node) for node in nodes),
        live_functions=live,
        surely_compiled=surely_compiled(jit_functions, launches, live, names),
    )


def _parse(text: str) -> ast.Module:
    if len(text) > LARGEST_SOURCE_CHARACTERS:
        raise KernelSyntaxError(None, f"too large to read: more than {LARGEST_SOURCE_CHARACTERS:,} characters")
    if "\0" in text:
        raise KernelSyntaxError(text.count("\n", 0, text.index("\0")) + 1, "null byte in the source")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise KernelSyntaxError(error.lineno, error.msg) from None
    except (RecursionError, MemoryError):
        raise KernelSyntaxError(None, "nested too deeply to read") from None
    except ValueError as error:
        raise KernelSyntaxError(None, f"not a readable Python source: {error}") from None


def _may_bind_model(node: ast.AST) -> bool:
    """Generous: when no node of a file passes, nothing in it can leave a `ModelNew` behind."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return node.name == MODEL_CLASS
    if isinstance(node, ast.alias):
        return node.name == "*" or MODEL_CLASS in (node.name, node.asname)
    if isinstance(node, ast.Name):
        stored = node.id == MODEL_CLASS and isinstance(node.ctx, ast.Store)
        return stored or node.id in NAME_MAKERS
    return isinstance(node, ast.Constant) and node.value == MODEL_CLASS
