"""State that a loop keeps in memory: what one step stores, a later step loads."""

from __future__ import annotations

import ast

from tilesmith.lint.model.loops import stores_in
from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.structure.accumulation import ONLY_SUMS, between
from tilesmith.lint.structure.buffers import buffers, helper_calls
from tilesmith.lint.structure.value_flow import ValueFlow
from tilesmith.lint.vocabulary import LOADS, STORES


def recurs_in_memory(loop: KernelLoop, function: JitFunction, source: KernelSource) -> bool:
    """Through a buffer that the loop itself reads and writes, or a function it calls; sums alone do not count."""
    steps = _Steps(loop, function, source)
    if any(steps.feeds_itself(store.node) for store in stores_in(loop)):
        return True
    inside = [(call, callee) for call, callee in helper_calls(source, function) if steps.contains(call)]
    return any(steps.keeps_inside(call, callee) for call, callee in inside)


class _Steps:
    def __init__(self, loop: KernelLoop, function: JitFunction, source: KernelSource) -> None:
        self.loop, self.function, self.source = loop, function, source
        self.flow = ValueFlow(loop.flow, source)
        self.moving = loop.indices | loop.carried
        self.loads = [call.node for call in loop.calls if call.operation in LOADS and call.node.args]

    def contains(self, node: ast.AST) -> bool:
        return any(self.loop.flow.syntax.contains(part, node) for part in self.loop.node.body)

    def moves(self, *expressions: ast.expr) -> bool:
        return bool(self.loop.flow.origins(*expressions) & self.moving)

    def feeds_itself(self, store: ast.Call) -> bool:
        """What is stored was made of something loaded from the same buffer."""
        if len(store.args) < 2:
            return False
        written, value = store.args[:2]
        targets = buffers(self.function, written)
        feeding = [load for load in self.loads if targets & buffers(self.function, load.args[0])]
        behind = set(self.flow.parts_behind(value)) if feeding else set()
        return any(load in behind and self._is_earlier(load, written, value) for load in feeding)

    def _is_earlier(self, load: ast.Call, written: ast.expr, value: ast.expr) -> bool:
        """The place stands still, or is one step behind the one that is written."""
        read = load.args[0]
        if self.moves(read) != self.moves(written):
            return False
        if self.moves(read) and self._steps(read) == self._steps(written):
            return False
        return between(load, value, self.flow, self.source) != ONLY_SUMS

    def _steps(self, address: ast.expr) -> frozenset[str]:
        """How an address moves with the loop: `t`, `t + 1`, `(t + 1) % 2`, or a pointer that is moved along."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting: list[ast.AST] = [address]
        while waiting:
            names = [n for n in self.loop.flow.syntax.inside(waiting.pop()) if isinstance(n, ast.Name)]
            found |= {self._shifted(name) for name in names if name.id in self.moving}
            fresh = {name.id for name in names} - self.moving - seen
            seen |= fresh
            waiting += [value for name in fresh for value in self.loop.flow.values_of(name)]
        return frozenset(found)

    def _shifted(self, name: ast.Name) -> str:
        """The name with the constants around it."""
        parents = self.loop.flow.syntax.parents
        top: ast.AST = name
        parent = parents[top]
        while isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.Mult):
            if not isinstance(parent.left, ast.Constant) and not isinstance(parent.right, ast.Constant):
                break
            top, parent = parent, parents[parent]
        return ast.unparse(top)

    def keeps_inside(self, call: ast.Call, callee: JitFunction) -> bool:
        """A function that is called in each step changes a buffer at a place that does not move with the loop."""
        given = dict(zip(callee.params, call.args, strict=False))
        moved = {name for name, value in given.items() if self.moves(value)}
        if not moved:
            return False
        loads = [c.node for c in callee.calls if c.operation in LOADS and c.node.args]
        still = [load for load in loads if not callee.flow.origins(load.args[0]) & moved]
        stores = [c.node for c in callee.calls if c.operation in STORES and len(c.node.args) > 1]
        return any(self._changes(store, load, callee) for store in stores for load in still)

    def _changes(self, store: ast.Call, load: ast.Call, callee: JitFunction) -> bool:
        if not buffers(callee, store.args[0]) & buffers(callee, load.args[0]):
            return False
        flow = ValueFlow(callee.flow, self.source)
        value = store.args[1]
        return load in flow.parts_behind(value) and between(load, value, flow, self.source) != ONLY_SUMS
