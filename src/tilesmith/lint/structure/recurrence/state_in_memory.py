"""State that a loop keeps in memory: what one step stores, a later step loads."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import NamedTuple

from tilesmith.lint.model.device.kernel_loops import stores_in
from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.structure.addresses.buffers import buffers, helper_calls, loads_from
from tilesmith.lint.structure.device_flow.reaching_definitions import parts_reaching
from tilesmith.lint.structure.device_flow.value_flow import ValueFlow
from tilesmith.lint.structure.reductions.accumulation import ONLY_SUMS, between
from tilesmith.lint.vocabulary import LOADS, STORES

UNCHANGED: frozenset[str] = frozenset()
"""No operator lies between a load and what is stored."""


def recurs_in_memory(loop: KernelLoop, function: JitFunction, source: KernelSource) -> bool:
    """Through a buffer that the loop itself reads and writes, or a function it calls; sums alone do not count."""
    steps = _MemorySteps(loop, function, source)
    if any(steps.feeds_itself(store.node) or steps.reads_back(store.node) for store in stores_in(loop)):
        return True
    return any(steps.keeps_inside(call, callee) for call, callee in steps.helpers)


class _MemoryRead(NamedTuple):
    """A load, or a call of a function that loads through a pointer it is given."""

    call: ast.Call
    pointer: ast.expr
    shifts: frozenset[str]
    """How the place moves with the loop."""


class _MemorySteps:
    def __init__(self, loop: KernelLoop, function: JitFunction, source: KernelSource) -> None:
        self.loop, self.function, self.source = loop, function, source
        self.flow = ValueFlow.of(loop.flow, source)
        self.moving = loop.indices | loop.carried
        self.loads = [call.node for call in loop.calls if call.operation in LOADS and call.node.args]
        self.helpers = [(call, callee) for call, callee in helper_calls(source, function) if loop.holds(call)]

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

    def reads_back(self, store: ast.Call) -> bool:
        """What is loaded from a place after the store to it goes into what the next step stores there.

        Other programs may have stored some of it: they share the state.
        """
        if len(store.args) < 2:
            return False
        value = store.args[1]
        reads = self._reads_after(store)
        behind = parts_reaching(value, self.flow) if reads else set()
        return any(
            read.call in behind and between(read.call, value, self.flow, self.source) not in (UNCHANGED, ONLY_SUMS)
            for read in reads
        )

    def _reads_after(self, store: ast.Call) -> list[_MemoryRead]:
        """Of the same step's part of the same buffer, below the store in the body of the loop."""
        syntax = self.loop.flow.syntax
        written = store.args[0]
        targets, shifts = buffers(self.function, written), self._shifts(written)
        return [
            read
            for read in self._reads
            if syntax.position(read.call) > syntax.position(store)
            and not syntax.contains(store, read.call)
            and read.shifts == shifts
            and targets & buffers(self.function, read.pointer)
        ]

    @cached_property
    def _reads(self) -> list[_MemoryRead]:
        """Where a function reads, its pointer says, or all that is passed beside a pointer that stands still."""
        found = [_MemoryRead(load, load.args[0], self._shifts(load.args[0])) for load in self.loads]
        for call, callee in self.helpers:
            loaded = loads_from(self.source, callee)
            pointers = [value for name, value in zip(callee.params, call.args, strict=False) if name in loaded]
            found += [_MemoryRead(call, p, self._shifts(*([p] if self.moves(p) else call.args))) for p in pointers]
        return found

    def _shifts(self, *addresses: ast.expr) -> frozenset[str]:
        """As `_steps`, and also `slot + 1` for any `slot` that the loop sets."""
        names = [name for address in addresses for name in self._names_behind(address)]
        own = [name for name in names if name.id in self.loop.flow.by_name and self._shifted(name) != name.id]
        moving = [name for name in names if name.id in self.moving]
        return frozenset(self._shifted(name) for name in (*own, *moving))

    def _steps(self, address: ast.expr) -> frozenset[str]:
        """How an address moves with the loop: `t`, `t + 1`, `(t + 1) % 2`, or a pointer that is moved along."""
        return frozenset(self._shifted(name) for name in self._names_behind(address) if name.id in self.moving)

    def _names_behind(self, address: ast.expr) -> list[ast.Name]:
        """Wherever a name is read on the way to the address, back to the names that move."""
        found: list[ast.Name] = []
        seen: set[str] = set()
        waiting: list[ast.AST] = [address]
        while waiting:
            names = [n for n in self.loop.flow.syntax.inside(waiting.pop()) if isinstance(n, ast.Name)]
            found += names
            fresh = {name.id for name in names} - self.moving - seen
            seen |= fresh
            waiting += [value for name in fresh for value in self.loop.flow.values_of(name)]
        return found

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
        flow = ValueFlow.of(callee.flow, self.source)
        value = store.args[1]
        return load in flow.parts_behind(value) and between(load, value, flow, self.source) != ONLY_SUMS
