"""What jit functions that other jit functions call are given, joined over all their calls."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping

from tilesmith.lint.model.device.values import PARAMETER, STATIC, UNKNOWN, DeviceValue, join
from tilesmith.lint.model.syntax.tree import SyntaxTree

TaskFacts = Mapping[str, DeviceValue]


class HelperArguments:
    """Callers are read before those they call, so that each call is known when it matters."""

    def __init__(self, syntax: SyntaxTree, functions: list[ast.FunctionDef]) -> None:
        self.syntax = syntax
        names = Counter(node.name for node in functions)
        self.single = {node.name: node for node in functions if names[node.name] == 1}
        self._mentions = Counter(n.id for n in syntax.nodes if type(n) is ast.Name and n.id in names)
        self._given: defaultdict[str, list[TaskFacts]] = defaultdict(list)

    def launched(self, function: ast.FunctionDef, constexprs: frozenset[str]) -> TaskFacts:
        """What the host can pass."""
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        return {argument.arg: PARAMETER for argument in arguments if argument.arg not in constexprs}

    def called(self, function: ast.FunctionDef) -> TaskFacts:
        """What other jit functions pass; empty where some call may be out of sight."""
        calls = self._given[function.name]
        if function.name not in self.single or not calls or len(calls) != self._mentions[function.name]:
            return {}
        first, *others = calls
        joined = dict(first)
        for call in others:
            joined = {name: join(value, call.get(name, UNKNOWN)) for name, value in joined.items()}
        return joined

    def note_calls(self, function: ast.FunctionDef, values: Mapping[ast.AST, DeviceValue]) -> None:
        for node in self.syntax.inside(*function.body):
            if type(node) is ast.Call and isinstance(node.func, ast.Name) and node.func.id in self.single:
                self._given[node.func.id].append(_bound(self.single[node.func.id], node, values))


def callers_first(
    functions: list[ast.FunctionDef], mentioned: Mapping[ast.FunctionDef, set[str]]
) -> list[ast.FunctionDef]:
    """In an order that puts every function after all that mention it; circles are cut where they start."""
    waiting = Counter(name for node in functions for name in mentioned[node] if name != node.name)
    named: defaultdict[str, list[ast.FunctionDef]] = defaultdict(list)
    for node in functions:
        named[node.name].append(node)
    ordered: dict[ast.FunctionDef, None] = {}
    for start in [*(node for node in functions if not waiting[node.name]), *functions]:
        ready = [start]
        while ready:
            node = ready.pop()
            if node in ordered:
                continue
            ordered[node] = None
            for name in mentioned[node] - {node.name}:
                waiting[name] -= 1
                ready += named[name] if not waiting[name] else []
    return list(ordered)


def _bound(function: ast.FunctionDef, call: ast.Call, values: Mapping[ast.AST, DeviceValue]) -> TaskFacts:
    """Arguments by parameter; what hides behind a star, and sizes that only the caller can name, are unknown."""
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return {}
    positional = [*function.args.posonlyargs, *function.args.args]
    defaults = positional[len(positional) - len(function.args.defaults) :]
    bound = {argument.arg: STATIC for argument in defaults}
    passed = [
        *zip((a.arg for a in positional), call.args, strict=False),
        *((str(k.arg), k.value) for k in call.keywords),
    ]
    return bound | {name: _abroad(values.get(value, UNKNOWN)) for name, value in passed}


def _abroad(value: DeviceValue) -> DeviceValue:
    if value.shape is None:
        return value
    return DeviceValue(value.kind, tuple(dim if isinstance(dim, int) else None for dim in value.shape), value.dtype)
