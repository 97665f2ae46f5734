"""The autotuner must search again when a size changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.syntax.call_arguments import keyword
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.addresses.buffers import accesses
from tilesmith.lint.vocabulary import LOADS, STORES
from tilesmith.records import Finding


def autotune_key_missing(source: KernelSource) -> Iterator[Finding]:
    """The tuner cannot see that a size changed."""
    for function in source.jit_functions:
        tuner = function.autotune
        if tuner is None or tuner.key is None:
            continue
        unknown = [name for name in tuner.key if name not in function.params]
        if unknown:
            message = (
                f"the autotune key names {', '.join(unknown)}, no parameter of {function.name}: name its "
                "run-time sizes as the kernel spells them"
            )
            yield warning("autotune-key-missing", _key_line(tuner.decorator), message)
        elif not tuner.key and tuner.count != 1 and (sizes := _runtime_sizes(function)):
            message = (
                f"autotune without a key keeps the first shape's winner for all shapes: add key={sizes[:4]} so "
                "that it measures again when a size changes"
            )
            yield warning("autotune-key-missing", _key_line(tuner.decorator), message)


def _runtime_sizes(function: JitFunction) -> list[str]:
    """Plain parameters that bound a loop or a mask."""
    pointers = {name for name, _ in accesses(function, LOADS | STORES)}
    plain = [p for p in function.params if p not in function.constexprs and p not in pointers]
    syntax = function.flow.syntax
    tests = [node for node in function.nodes if isinstance(node, ast.Compare)]
    bounds = [bound for loop in function.loops for bound in loop.bounds]
    used = function.flow.origins(*tests, *bounds) if tests or bounds else frozenset()
    compared = {name for test in [*tests, *bounds] for name in syntax.names(test)}
    return [name for name in plain if name in compared] or [name for name in plain if name in used]


def _key_line(decorator: ast.Call) -> int:
    given = keyword(decorator, "key") or (decorator.args[1] if len(decorator.args) > 1 else decorator)
    return given.lineno
