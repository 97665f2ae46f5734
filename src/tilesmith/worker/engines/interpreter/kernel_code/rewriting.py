"""Rewrites a device function so that Python runs it as Triton would compile it.

Triton's own rewriter loses closures, takes the last `def` it sees for the first, and copies
its whole namespace into the candidate's globals, which hides missing imports. Here the
function is found in its file's syntax tree, and the names that the rewritten body needs come
in through its closure, so the candidate's module is left alone.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from tilesmith.worker.engines.interpreter.kernel_code import control_flow, source_lines
from tilesmith.worker.engines.interpreter.kernel_code.syntax import UnsupportedSyntax, kernel_body
from tilesmith.worker.engines.interpreter.kernel_faults import KernelCompileFault, KernelLocation

_RUNTIME: dict[str, Any] = {
    "__tilesmith_value": control_flow.as_value,
    "__tilesmith_truth": control_flow.truth,
    "__tilesmith_while": control_flow.keep_looping,
    "__tilesmith_and": control_flow.logical_and,
    "__tilesmith_or": control_flow.logical_or,
    "__tilesmith_not": control_flow.logical_not,
    "__tilesmith_compare": control_flow.compare_chain,
    "__tilesmith_global": control_flow.refuse_global,
    "__tilesmith_jump": control_flow.refuse_jump,
}

_HOST_TYPES = frozenset({bool, int, float, str, list, dict})
_ALLOW_GLOBALS = "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"


def rewrite(function: FunctionType) -> Callable[..., Any]:
    """The interpretable twin of a device function, with its closure, defaults and line numbers."""
    node = _find_definition(function)
    if node is None:
        return function
    substitutes = {**_RUNTIME, **_shadowed_builtins(function)}
    try:
        code = _compile(node, function, tuple(substitutes))
    except UnsupportedSyntax as refusal:
        line = source_lines.SourceLine.read(function.__code__.co_filename, refusal.line_number)
        raise KernelCompileFault(str(refusal), KernelLocation(function.__name__, (0, 0, 0), line)) from None
    source_lines.remember_kernel_code(code)
    own_cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells = {name: CellType(value) for name, value in substitutes.items()} | own_cells
    closure = tuple(cells[name] for name in code.co_freevars)
    twin = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    twin.__kwdefaults__ = function.__kwdefaults__
    return twin


def _shadowed_builtins(function: FunctionType) -> dict[str, Any]:
    """The builtins that mean something else in a kernel, unless the candidate redefines them."""
    taken = {*function.__globals__, *function.__code__.co_freevars}
    return {name: value for name, value in control_flow.BUILTINS.items() if name not in taken}


def _plain_globals(function: FunctionType) -> frozenset[str]:
    """Variables of the host that a kernel may not read: plain values that are not tl.constexpr."""
    if source_lines.is_library(function.__code__.co_filename) or os.environ.get(_ALLOW_GLOBALS) == "1":
        return frozenset()
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    visible = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells if _filled(cell)}}
    own = set(function.__code__.co_varnames)
    return frozenset(name for name, value in visible.items() if type(value) in _HOST_TYPES and name not in own)


def _filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@functools.cache
def _definitions(filename: str, first_lines: tuple[str, ...]) -> dict[int, list[ast.FunctionDef]]:
    """Every function of a file by the line it starts on, decorators included."""
    by_line: dict[int, list[ast.FunctionDef]] = {}
    for node in ast.walk(ast.parse("".join(first_lines))):
        if isinstance(node, ast.FunctionDef):
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            by_line.setdefault(start, []).append(node)
    return by_line


def _find_definition(function: FunctionType) -> ast.FunctionDef | None:
    """None when the source is not to be had, as with functions that were built by exec."""
    filename = function.__code__.co_filename
    lines = linecache.getlines(filename, function.__globals__)
    if not lines:
        return None
    try:
        candidates = _definitions(filename, tuple(lines)).get(function.__code__.co_firstlineno, [])
    except SyntaxError:
        return None
    return next((node for node in candidates if node.name == function.__name__), None)


def _compile(node: ast.FunctionDef, function: FunctionType, extra_names: tuple[str, ...]) -> CodeType:
    # Compiled inside a factory whose parameters become the free variables of the body.
    body = kernel_body(node, _plain_globals(function))
    names = dict.fromkeys([*extra_names, *function.__code__.co_freevars])
    factory = ast.parse(f"def __tilesmith_factory({', '.join(names)}): pass").body[0]
    assert isinstance(factory, ast.FunctionDef)
    factory.body = [body]
    module = ast.fix_missing_locations(ast.Module([factory], []))
    namespace = compile(module, function.__code__.co_filename, "exec")
    return _inner_code(_inner_code(namespace, factory.name), body.name)


def _inner_code(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
