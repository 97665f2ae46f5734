"""Find what Triton compiles: functions decorated with, or handed to, `triton.jit`."""

from __future__ import annotations

import ast

from tilesmith.lint.model.device.helper_arguments import HelperArguments, callers_first
from tilesmith.lint.model.device.inference import LANGUAGE, InferredValues, infer
from tilesmith.lint.model.device.kernel_loops import find_loops
from tilesmith.lint.model.sizes.autotuning import find_autotune, find_heuristics
from tilesmith.lint.model.source import JitFunction, LanguageCall
from tilesmith.lint.model.syntax.flow import read_flow
from tilesmith.lint.model.syntax.names import Imports
from tilesmith.lint.model.syntax.tree import SyntaxTree

LARGEST_KERNEL_NODES = 20_000
"""A larger function is known by its calls alone: its data is not followed."""


def find_jit_functions(syntax: SyntaxTree, imports: Imports) -> tuple[JitFunction, ...]:
    """Every jit function at any level of nesting, in source order."""
    wrapped = _names_handed_to_jit(syntax, imports)
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


def _names_handed_to_jit(syntax: SyntaxTree, imports: Imports) -> frozenset[str]:
    """Functions wrapped by hand: `kernel = triton.jit(function)`."""
    jits = [n for n in syntax.nodes if type(n) is ast.Call and imports.get(n.func) == "triton.jit"]
    return frozenset(argument.id for call in jits for argument in call.args if isinstance(argument, ast.Name))


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
            defaults=_defaults(node),
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


def _defaults(node: ast.FunctionDef) -> dict[str, ast.expr]:
    positional = [*node.args.posonlyargs, *node.args.args]
    ends = positional[len(positional) - len(node.args.defaults) :]
    given = {argument.arg: value for argument, value in zip(ends, node.args.defaults, strict=True)}
    named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return given | {argument.arg: value for argument, value in named if value is not None}


def _is_constexpr(argument: ast.arg) -> bool:
    """Triton looks for the word in the annotation's text, so a quoted one counts as well."""
    parts = ast.walk(argument.annotation) if argument.annotation else []
    return any(
        "constexpr" in word
        for part in parts
        for word in (getattr(part, "id", ""), getattr(part, "attr", ""), getattr(part, "value", ""))
        if isinstance(word, str)
    )
