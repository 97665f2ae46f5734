"""Loops in device code: what they carry from turn to turn, and what they load and store on the way."""

from __future__ import annotations

import ast

from tilesmith.lint.model.flow import Flow, read_flow, target_names
from tilesmith.lint.model.names import Imports
from tilesmith.lint.model.source import KernelLoop, LanguageCall
from tilesmith.lint.vocabulary import DOTS, LOADS, STORES


def find_loops(
    function: ast.FunctionDef,
    params: tuple[str, ...],
    calls: tuple[LanguageCall, ...],
    flow: Flow,
    imports: Imports,
) -> tuple[KernelLoop, ...]:
    """Every loop of a jit function, outermost first."""
    syntax = flow.syntax
    nodes = [node for node in syntax.inside(function) if isinstance(node, (ast.For, ast.While))]
    return tuple(_read_loop(node, params, calls, flow, imports) for node in nodes)


def _read_loop(
    node: ast.For | ast.While,
    params: tuple[str, ...],
    calls: tuple[LanguageCall, ...],
    whole: Flow,
    imports: Imports,
) -> KernelLoop:
    syntax = whole.syntax
    flow = read_flow(syntax, node.body)
    before = {b.name for b in whole.bindings if b.line < node.lineno} | set(params)
    carried = frozenset(name for name in flow.by_name if name in before and name in flow.origins_of(name))
    if isinstance(node, ast.For):
        indices = frozenset(target_names(node.target))
    else:
        indices = carried & syntax.names(node.test)
    inside = tuple(call for call in calls if any(syntax.contains(part, call.node) for part in node.body))
    return KernelLoop(
        node=node,
        flow=flow,
        indices=indices,
        carried=carried - indices,
        calls=inside,
        static=_iterator(node, imports).endswith("static_range"),
        bounds=_bounds(node),
    )


def _iterator(node: ast.For | ast.While, imports: Imports) -> str:
    """The canonical name of what makes the turns."""
    called = node.iter.func if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) else None
    return "" if called is None else imports.get(called, "")


def _bounds(node: ast.For | ast.While) -> tuple[ast.expr, ...]:
    if isinstance(node, ast.While):
        return (node.test,)
    return tuple(node.iter.args) if isinstance(node.iter, ast.Call) else (node.iter,)


def advancing_loads(loop: KernelLoop) -> list[LanguageCall]:
    """Loads whose address moves with the loop."""
    moving = loop.indices | loop.carried
    return [load for load in loads_in(loop) if loop.flow.origins(*load.node.args[:1]) & moving]


def loads_in(loop: KernelLoop) -> list[LanguageCall]:
    return [call for call in loop.calls if call.operation in LOADS]


def stores_in(loop: KernelLoop) -> list[LanguageCall]:
    return [call for call in loop.calls if call.operation in STORES]


def dots_in(loop: KernelLoop) -> list[LanguageCall]:
    return [call for call in loop.calls if call.operation in DOTS]
