"""Loops in device code: what they carry from turn to turn, and what they load and store on the way."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from tilesmith.lint.model.source import KernelLoop, LanguageCall
from tilesmith.lint.model.syntax.flow import Flow, read_flow, target_names
from tilesmith.lint.model.syntax.names import Imports
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
    own = _KernelLoopTurn(node.body, flow).found & before
    carried = frozenset(name for name in flow.by_name if name in own and name in flow.origins_of(name))
    if isinstance(node, ast.For):
        indices = frozenset(target_names(node.target))
    else:
        indices = carried & syntax.names(node.test)
    near = [call for call in calls if syntax.contains(node, call.node)]
    inside = tuple(call for call in near if any(syntax.contains(part, call.node) for part in node.body))
    return KernelLoop(
        node=node,
        flow=flow,
        indices=indices,
        carried=carried - indices,
        calls=inside,
        static=_iterator(node, imports).endswith("static_range"),
        bounds=_bounds(node),
    )


class _KernelLoopTurn:
    """One turn of a loop, statement by statement."""

    def __init__(self, body: Sequence[ast.stmt], flow: Flow) -> None:
        self.flow, self.syntax = flow, flow.syntax
        self.found: set[str] = set()
        """Names it reads before it sets them, so that they hold what the turn before left there."""
        self.follow(body, set(), frozenset())

    def follow(self, body: Sequence[ast.stmt], bound: set[str], elsewhere: frozenset[str]) -> None:
        """A name that one branch sets counts as set; `elsewhere` are names that only other branches set."""
        for statement in body:
            match statement:
                case ast.If():
                    self.read(bound | elsewhere, statement.test)
                    self.branches(statement, bound, elsewhere)
                case ast.For():
                    self.read(bound | elsewhere, statement.iter)
                    self.follow(statement.body, {*bound, *target_names(statement.target)}, elsewhere)
                case ast.While():
                    self.read(bound | elsewhere, statement.test)
                    self.follow(statement.body, {*bound}, elsewhere)
                case ast.Assign():
                    self.read(bound | elsewhere, statement.value)
                    bound.update(name for target in statement.targets for name in target_names(target))
                case ast.AnnAssign(value=ast.expr() as value):
                    self.read(bound | elsewhere, value)
                    bound.update(target_names(statement.target))
                case ast.AugAssign():
                    self.read(bound | elsewhere, statement.target, statement.value)
                    bound.update(target_names(statement.target))
                case _:
                    self.read(bound | elsewhere, statement)

    def read(self, known: set[str], *parts: ast.AST) -> None:
        self.found |= self.syntax.names(*parts) - known

    def branches(self, choice: ast.If, bound: set[str], elsewhere: frozenset[str]) -> None:
        """Where the choice is the same in every turn, what one branch sets never reaches the other."""
        fixed = not self.syntax.names(choice.test) & self.flow.by_name.keys()
        ends = []
        for body, other in ((choice.body, choice.orelse), (choice.orelse, choice.body)):
            inside = {*bound}
            self.follow(body, inside, elsewhere | self.only_in(other) if fixed else elsewhere)
            ends.append(inside)
        bound.update(*ends)

    def only_in(self, body: Sequence[ast.stmt]) -> frozenset[str]:
        """Names whose every assignment in the loop lies in these statements."""
        inside = Counter(binding.name for binding in read_flow(self.syntax, body).bindings)
        return frozenset(name for name, count in inside.items() if count == len(self.flow.by_name.get(name, ())))


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
