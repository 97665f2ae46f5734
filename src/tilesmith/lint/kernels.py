"""Find what Triton compiles: functions decorated with, or handed to, `triton.jit`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tilesmith.lint.source import JitFunction, LanguageCall

Nodes = tuple[ast.AST, ...]
LANGUAGE = "triton.language."
TUNERS = frozenset({"triton.autotune", "triton.heuristics"})


def find_jit_functions(nodes: Nodes, names: Mapping[ast.AST, str]) -> tuple[JitFunction, ...]:
    """Every jit function at any level of nesting, in source order."""
    wrapped = _names_handed_to_jit(nodes, names)
    found = [
        node
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and (node.name in wrapped or any(_is_jit(d, names) for d in node.decorator_list))
    ]
    known = frozenset(node.name for node in found)
    found.sort(key=lambda node: node.lineno)
    return tuple(_read_function(node, names, known) for node in found)


def _decorator_name(decorator: ast.expr, names: Mapping[ast.AST, str]) -> str | None:
    return names.get(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _is_jit(decorator: ast.expr, names: Mapping[ast.AST, str]) -> bool:
    """`@triton.jit`, `@triton.jit(...)` and `@partial(triton.jit, ...)`."""
    if _decorator_name(decorator, names) == "triton.jit":
        return True
    return isinstance(decorator, ast.Call) and any(names.get(arg) == "triton.jit" for arg in decorator.args)


def _names_handed_to_jit(nodes: Nodes, names: Mapping[ast.AST, str]) -> frozenset[str]:
    """Functions wrapped by hand: `kernel = triton.jit(function)`."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    jits = [call for call in calls if names.get(call.func) == "triton.jit"]
    return frozenset(arg.id for call in jits for arg in call.args if isinstance(arg, ast.Name))


def _read_function(node: ast.FunctionDef, names: Mapping[ast.AST, str], known: frozenset[str]) -> JitFunction:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    inside = [part for statement in node.body for part in ast.walk(statement)]
    calls = [part for part in inside if isinstance(part, ast.Call)]
    return JitFunction(
        name=node.name,
        line=node.lineno,
        node=node,
        params=tuple(argument.arg for argument in arguments),
        constexprs=frozenset(argument.arg for argument in arguments if _is_constexpr(argument)),
        calls=tuple(_language_calls(calls, names)),
        callees=frozenset(part.id for part in inside if isinstance(part, ast.Name) and part.id in known),
        autotuned=any(_decorator_name(d, names) in TUNERS for d in node.decorator_list),
    )


def _language_calls(calls: list[ast.Call], names: Mapping[ast.AST, str]) -> list[LanguageCall]:
    found = []
    for call in calls:
        dotted = names.get(call.func, "")
        if dotted.startswith(LANGUAGE):
            found.append(LanguageCall(dotted.removeprefix(LANGUAGE), call.lineno, call))
    return sorted(found, key=lambda call: (call.line, call.node.col_offset))


def _is_constexpr(argument: ast.arg) -> bool:
    """Triton looks for the word in the annotation's text, so a quoted one counts as well."""
    parts = ast.walk(argument.annotation) if argument.annotation else []
    return any(
        "constexpr" in word
        for part in parts
        for word in (getattr(part, "id", ""), getattr(part, "attr", ""), getattr(part, "value", ""))
        if isinstance(word, str)
    )
