"""Find what Triton compiles: functions decorated with, or handed to, `triton.jit`."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping

from tilesmith.lint.model.device.inference import InferredValues, infer
from tilesmith.lint.model.device.kernel_loops import find_loops
from tilesmith.lint.model.device.values import PARAMETER, STATIC, UNKNOWN, DeviceValue, join
from tilesmith.lint.model.sizes.autotuning import find_autotune, find_heuristics
from tilesmith.lint.model.source import JitFunction, LanguageCall
from tilesmith.lint.model.syntax.call_arguments import arguments_by_name, defaults, hides_arguments, parameters
from tilesmith.lint.model.syntax.flow import read_flow
from tilesmith.lint.model.syntax.names import Imports
from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.vocabulary import LANGUAGE

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
        return {name: PARAMETER for name in parameters(function) if name not in constexprs}

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
    if hides_arguments(call):
        return {}
    bound = arguments_by_name(parameters(function), call)
    passed = {name: _abroad(values.get(value, UNKNOWN)) for name, value in bound.items()}
    return dict.fromkeys(defaults(function), STATIC) | passed


def _abroad(value: DeviceValue) -> DeviceValue:
    if value.shape is None:
        return value
    return DeviceValue(value.kind, tuple(dim if isinstance(dim, int) else None for dim in value.shape), value.dtype)


LARGEST_KERNEL_NODES = 20_000
"""A larger function is known by its calls alone: its data is not followed."""


def find_jit_functions(syntax: SyntaxTree, imports: Imports) -> tuple[JitFunction, ...]:
    """Every jit function at any level of nesting, in source order."""
    # functions wrapped by hand: `kernel = triton.jit(function)`
    jits = [n for n in syntax.nodes if type(n) is ast.Call and imports.get(n.func) == "triton.jit"]
    wrapped = frozenset(argument.id for call in jits for argument in call.args if isinstance(argument, ast.Name))
    found = [
        node
        for node in syntax.nodes
        if isinstance(node, ast.FunctionDef)
        and (node.name in wrapped or any(_is_jit(d, imports) for d in node.decorator_list))
    ]
    known = frozenset(node.name for node in found)
    mentioned = {node: syntax.names(*node.body) & known for node in found}
    called = frozenset(name for node, names in mentioned.items() for name in names)
    found.sort(key=lambda node: node.lineno)
    reader = _FunctionReader(syntax, imports, called, HelperArguments(syntax, found))
    read = [reader.read(node, frozenset(mentioned[node])) for node in callers_first(found, mentioned)]
    return tuple(sorted(read, key=lambda function: function.line))


def _is_jit(decorator: ast.expr, imports: Imports) -> bool:
    """`@triton.jit`, `@triton.jit(...)` and `@partial(triton.jit, ...)`."""
    if not isinstance(decorator, ast.Call):
        return imports.get(decorator) == "triton.jit"
    return any(imports.get(part) == "triton.jit" for part in (decorator.func, *decorator.args))


class _FunctionReader:
    """Reads one function after another with what is known of the whole file."""

    def __init__(
        self, syntax: SyntaxTree, imports: Imports, called: frozenset[str], passing: HelperArguments
    ) -> None:
        self.syntax, self.imports, self.called, self.passing = syntax, imports, called, passing

    def read(self, node: ast.FunctionDef, callees: frozenset[str]) -> JitFunction:
        positional = [*node.args.posonlyargs, *node.args.args]
        arguments = [*positional, *node.args.kwonlyargs]
        params = tuple(argument.arg for argument in arguments)
        constexprs = frozenset(argument.arg for argument in arguments if _is_constexpr(argument))
        readable = len(self.syntax.inside(node)) <= LARGEST_KERNEL_NODES
        flow = read_flow(self.syntax, node.body if readable else [])
        calls = self._language_calls(node)
        inferred = self._infer(node, constexprs) if readable else InferredValues()
        return JitFunction(
            name=node.name,
            line=node.lineno,
            node=node,
            params=params,
            constexprs=constexprs,
            defaults=defaults(node),
            calls=calls,
            callees=callees,
            autotune=find_autotune(node, self.syntax, self.imports),
            heuristics=find_heuristics(node, self.imports),
            flow=flow,
            loops=find_loops(node, params, calls, flow, self.imports) if readable else (),
            values=inferred.values,
            changes=inferred.changes,
        )

    def _infer(self, node: ast.FunctionDef, constexprs: frozenset[str]) -> InferredValues:
        called = node.name in self.called
        given = self.passing.called(node) if called else self.passing.launched(node, constexprs)
        inferred = infer(node, constexprs, self.imports, given)
        self.passing.note_calls(node, inferred.values)
        return inferred

    def _language_calls(self, function: ast.FunctionDef) -> tuple[LanguageCall, ...]:
        found = []
        for node in self.syntax.inside(*function.body):
            if type(node) is ast.Call:
                dotted = self.imports.get(node.func, "")
                if dotted.startswith(LANGUAGE):
                    found.append(LanguageCall(dotted.removeprefix(LANGUAGE), node.lineno, node))
        return tuple(sorted(found, key=lambda call: (call.line, call.node.col_offset)))


def _is_constexpr(argument: ast.arg) -> bool:
    """Triton looks for the word in the annotation's text, so a quoted one counts as well."""
    parts = ast.walk(argument.annotation) if argument.annotation else []
    return any(
        "constexpr" in word
        for part in parts
        for word in (getattr(part, "id", ""), getattr(part, "attr", ""), getattr(part, "value", ""))
        if isinstance(word, str)
    )
