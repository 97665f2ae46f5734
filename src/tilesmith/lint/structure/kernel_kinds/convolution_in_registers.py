"""Convolution with its window in registers: a loop hands the last inputs on from turn to turn and weighs them."""

from __future__ import annotations

import ast

from tilesmith.lint.model.device.kernel_loops import advancing_loads, stores_in
from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.structure.device_flow.dependence import Dependence, load_calls

FEWEST_AGES = 2


def weighs_last_inputs(function: JitFunction, source: KernelSource) -> bool:
    """`y = w0 * before + w1 * x; before = x`, with `y` stored in every turn."""
    return any(_DelayLine(loop, function, source).is_weighed() for loop in function.loops if stores_in(loop))


class _DelayLine:
    def __init__(self, loop: KernelLoop, function: JitFunction, source: KernelSource) -> None:
        self.loop, self.function, self.flow = loop, function, loop.flow
        loads = load_calls(function, source)
        self.loaded = Dependence(function.flow, loads, loads)
        moving = {call.node for call in advancing_loads(loop)}
        bound = [(binding.name, loop.flow.syntax.inside(binding.value)) for binding in loop.flow.bindings]
        self.newest = frozenset(name for name, nodes in bound if any(node in moving for node in nodes))
        self.kept = self._kept()

    def _kept(self) -> frozenset[str]:
        """Names set before the loop that each turn gives nothing but the value of a younger one."""
        copies = {name: self._copied(name) for name in self.flow.by_name if self._starts_outside(name)}
        found: set[str] = set()
        for _ in copies:
            fresh = {name for name, younger in copies.items() if younger and younger <= found | self.newest}
            if fresh <= found:
                break
            found |= fresh
        return frozenset(found)

    def _starts_outside(self, name: str) -> bool:
        return len(self.function.flow.by_name.get(name, ())) > len(self.flow.by_name[name])

    def _copied(self, name: str) -> frozenset[str]:
        bindings = self.flow.by_name[name]
        if not all(binding.whole and isinstance(binding.value, ast.Name) for binding in bindings):
            return frozenset()
        return frozenset(b.value.id for b in bindings if isinstance(b.value, ast.Name)) - {name}

    def is_weighed(self) -> bool:
        if not self.kept:
            return False
        values = [store.node.args[1] for store in stores_in(self.loop) if len(store.node.args) > 1]
        weighed: set[str] = set()
        for node in self.flow.parts_behind(*values):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                for side, weight in ((node.left, node.right), (node.right, node.left)):
                    if not self._ages(weight) and self.loaded.behind(weight):
                        weighed |= self._ages(side)
        return len(weighed) >= FEWEST_AGES and bool(weighed & self.kept)

    def _ages(self, side: ast.AST) -> set[str]:
        """The last inputs in it, through names that stand for one of them."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = list(self.flow.syntax.names(side))
        while waiting:
            name = waiting.pop()
            if name in self.kept or name in self.newest:
                found.add(name)
            if name not in self.kept and name not in seen:
                seen.add(name)
                waiting += [n for value in self.flow.values_of(name) for n in self._passed_on(name, value)]
        return found

    def _passed_on(self, name: str, value: ast.AST) -> set[str]:
        """What a name is made of; of a new input only what else stands for it in another case."""
        if name in self.newest and not isinstance(value, ast.Name):
            return set()
        return self.flow.syntax.names(value)
