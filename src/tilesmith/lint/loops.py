"""Loops in device code: what they carry from turn to turn, and what they load and store on the way."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tilesmith.lint.dataflow import Flow, names_in, read_flow
from tilesmith.lint.source import JitFunction, LanguageCall
from tilesmith.lint.vocabulary import DOTS, LOADS, STORES


@dataclass(frozen=True)
class KernelLoop:
    """One loop of a jit function."""

    node: ast.For | ast.While
    flow: Flow
    """Assignments inside the body only."""
    indices: frozenset[str]
    carried: frozenset[str]
    """Names set before the loop that each turn makes anew from their last value."""
    calls: tuple[LanguageCall, ...]

    def advancing_loads(self) -> list[LanguageCall]:
        """Loads whose address moves with the loop."""
        moving = self.indices | self.carried
        loads = [call for call in self.calls if call.operation in LOADS]
        return [load for load in loads if self.flow.origins(*load.node.args[:1]) & moving]

    def stores(self) -> list[LanguageCall]:
        return [call for call in self.calls if call.operation in STORES]

    def dots(self) -> list[LanguageCall]:
        return [call for call in self.calls if call.operation in DOTS]


def find_loops(function: JitFunction) -> tuple[KernelLoop, ...]:
    loops = [node for node in ast.walk(function.node) if isinstance(node, (ast.For, ast.While))]
    whole = read_flow(function.node.body)
    return tuple(_read_loop(node, function, whole) for node in loops)


def _read_loop(node: ast.For | ast.While, function: JitFunction, whole: Flow) -> KernelLoop:
    flow = read_flow(node.body)
    inside = {part for statement in node.body for part in ast.walk(statement)}
    before = {b.name for b in whole.bindings if b.line < node.lineno} | set(function.params)
    carried = frozenset(
        name
        for name, bindings in flow.by_name.items()
        if name in before and name in flow.origins(*(binding.value for binding in bindings))
    )
    indices = names_in(node.target) if isinstance(node, ast.For) else names_in(node.test) & carried
    calls = tuple(call for call in function.calls if call.node in inside)
    return KernelLoop(node, flow, frozenset(indices), carried - indices, calls)
