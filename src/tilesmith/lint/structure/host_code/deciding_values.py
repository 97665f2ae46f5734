"""Does a value decide what the file computes? Followed through names, attributes and functions that return it."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cached_property

from tilesmith.lint.model.host.reachability import FUNCTIONS
from tilesmith.lint.model.source import KernelSource

MOST_STEPS = 400
WITHOUT_EFFECT = (ast.Raise, ast.Pass, ast.Import, ast.ImportFrom, ast.Assert, ast.Global)
CHOICES = (ast.If, ast.While, ast.IfExp)


class DecidingValues:
    """Asked of one file, value by value."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self.syntax = source.syntax

    def depend_on(self, start: ast.AST) -> bool:
        """Some branch that does more than print, log or raise is chosen by it."""
        waiting: list[ast.AST] = [start]
        seen: set[ast.AST] = set()
        while waiting and len(seen) < MOST_STEPS:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            for above, below in self._upwards(node):
                if isinstance(above, CHOICES) and below is above.test:
                    if self._matters(above):
                        return True
                else:
                    waiting += self._carried_on(above, below, node)
        return False

    def _upwards(self, node: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
        """What encloses a value up to its statement, each with the part it comes from."""
        found = []
        below = node
        for above in self.syntax.ancestors(node):
            if isinstance(above, FUNCTIONS):
                break
            found.append((above, below))
            if isinstance(above, ast.stmt):
                break
            below = above
        return found

    def _carried_on(self, above: ast.AST, below: ast.AST, node: ast.AST) -> list[ast.AST]:
        """Where the value is met again."""
        match above:
            case ast.Assign(targets=targets):
                return [use for target in targets for use in self._uses(target, node)]
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.NamedExpr(target=target):
                return self._uses(target, node)
            case ast.For(target=target, iter=iterated) | ast.comprehension(target=target, iter=iterated):
                return self._uses(target, node) if iterated is below else []
            case ast.withitem(optional_vars=ast.expr() as target):
                return self._uses(target, node)
            case ast.Return():
                function = self._function(above)
                return [] if function is None else self._loads.get(function.name, [])
        return []

    def _uses(self, target: ast.expr, node: ast.AST) -> list[ast.AST]:
        match target:
            case ast.Name(id=name):
                function = self._function(node)
                found = self._loads.get(name, [])
                local = function is not None and not self._is_global(name, function)
                return [n for n in found if not local or self.syntax.contains(function, n)] if function else found
            case ast.Attribute(attr=name):
                return self._loads.get(name, [])
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return [use for part in parts for use in self._uses(part, node)]
        return []

    def _matters(self, choice: ast.If | ast.While | ast.IfExp) -> bool:
        if isinstance(choice, ast.IfExp):
            return True
        return any(self._has_effect(statement) for statement in (*choice.body, *choice.orelse))

    def _has_effect(self, statement: ast.stmt) -> bool:
        """More than words: printing, logging and raising what nobody here catches change no result."""
        match statement:
            case ast.If():
                return self._matters(statement)
            case ast.Raise():
                return self._is_caught(statement)
            case ast.Expr():
                launches = {launch.node for launch in self.source.launches}
                parts = self.syntax.inside(statement)
                return any(part in launches or self._calls_for_effect(part) for part in parts)
        return not isinstance(statement, WITHOUT_EFFECT)

    def _calls_for_effect(self, node: ast.AST) -> bool:
        """A call of this file's own function that keeps something for later, or whose refusal is caught."""
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return any(self._keeps_or_is_caught(one) for one in self._functions.get(name, ()))
        return False

    def _keeps_or_is_caught(self, function: ast.AST) -> bool:
        for node in self.syntax.inside(function):
            if isinstance(node, ast.Global | ast.Nonlocal) or (
                isinstance(node, ast.Raise) and self._is_caught(node)
            ):
                return True
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                return True
        return False

    def _is_caught(self, raised: ast.AST) -> bool:
        """Around it, or around a call of the function that it leaves, and so on upwards."""
        waiting, seen = [raised], set[ast.AST]()
        while waiting and len(seen) < MOST_STEPS:
            node = waiting.pop()
            if node in seen or not self.source.runs(node):
                continue
            seen.add(node)
            below = node
            for above in self.syntax.ancestors(node):
                if isinstance(above, FUNCTIONS):
                    waiting += self._loads.get(above.name, [])
                    break
                if isinstance(above, ast.Try) and above.handlers and below in above.body:
                    return True
                below = above
        return False

    def _function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        return next((above for above in self.syntax.ancestors(node) if isinstance(above, FUNCTIONS)), None)

    def _is_global(self, name: str, function: ast.AST) -> bool:
        return any(name in node.names for node in self.syntax.of_type(ast.Global, function))

    @cached_property
    def _functions(self) -> dict[str, list[ast.AST]]:
        found: defaultdict[str, list[ast.AST]] = defaultdict(list)
        for node in self.syntax.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found[node.name].append(node)
        return dict(found)

    @cached_property
    def _loads(self) -> dict[str, list[ast.AST]]:
        """Where names and attributes are read, by their last word."""
        found: defaultdict[str, list[ast.AST]] = defaultdict(list)
        for node in self.syntax.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found[node.id].append(node)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found[node.attr].append(node)
        return dict(found)
