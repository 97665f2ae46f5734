"""Does a loop in device code run through time: does one step's state feed the next step's arithmetic?

Accumulators (`acc += x`, `tl.dot(a, b, acc)`, a running maximum) are carried too, but each step adds to them
without looking at them. A state is transformed: it goes through a dot, a gate, a decay.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tilesmith.lint.model.flow import Flow, operands
from tilesmith.lint.model.inference import LANGUAGE
from tilesmith.lint.model.loops import advancing_loads, dots_in, stores_in
from tilesmith.lint.model.source import KernelLoop, KernelSource, LanguageCall
from tilesmith.lint.vocabulary import DOTS, LOADS

OPERATOR_GROUPS = {ast.Add: "sum", ast.Sub: "sum", ast.Mult: "product"}
EXTREMES = frozenset({"maximum", "minimum", "max", "min"})


def is_recurrent(loop: KernelLoop, source: KernelSource) -> bool:
    """The loop steps through its input and carries a state through registers or through memory."""
    if not advancing_loads(loop) or keeps_extreme(loop, source):
        return False
    return _recurs_in_registers(loop, source) or _recurs_in_memory(loop)


def is_sequential_scan(loop: KernelLoop, source: KernelSource) -> bool:
    """A running total that is stored at every step."""
    return any(_is_stored(name, loop) for name in _data_carried(loop, source))


def keeps_extreme(loop: KernelLoop, source: KernelSource) -> bool:
    """A running maximum, the mark of an online softmax."""
    values = [(name, b.value) for name in loop.carried for b in loop.flow.by_name[name]]
    return any(
        _operation(part, source) in EXTREMES and isinstance(part, ast.Call) and name in _argument_names(part)
        for name, value in values
        for behind in loop.flow.values_behind(value)
        for part in loop.flow.syntax.inside(behind)
    )


def _recurs_in_registers(loop: KernelLoop, source: KernelSource) -> bool:
    for name in _data_carried(loop, source):
        if _enters_dot(name, loop):
            return True
        groups = _Accumulation(name, loop.flow, source).operators()
        if (groups is None or len(groups) > 1) and _is_stored(name, loop):
            return True
    return False


def _recurs_in_memory(loop: KernelLoop) -> bool:
    """What one step stores, a later step loads: same buffer, another address, or one that stands still."""
    moving = loop.indices | loop.carried
    loads = [call for call in loop.calls if call.operation in LOADS and call.node.args]
    for store in stores_in(loop):
        if len(store.node.args) < 2:
            continue
        written = store.node.args[0]
        used = set(loop.flow.parts_behind(store.node.args[1]))
        for load in loads:
            read = load.node.args[0]
            if load.node in used and _buffer(read) and _buffer(read) == _buffer(written):
                still = not loop.flow.origins(read) & moving
                if still or ast.dump(read) != ast.dump(written):
                    return True
    return False


def _buffer(address: ast.expr) -> str | None:
    """The pointer an address starts from: its leftmost name."""
    while isinstance(address, ast.BinOp):
        address = address.left
    return address.id if isinstance(address, ast.Name) else None


def _data_carried(loop: KernelLoop, source: KernelSource) -> list[str]:
    """Carried names whose new value depends on something loaded, or on a dot, in the loop."""
    wanted = LOADS | DOTS
    return [
        name
        for name in sorted(loop.carried)
        if any(
            _operation(part, source) in wanted
            for value in loop.flow.values_behind(*(b.value for b in loop.flow.by_name[name]))
            for part in loop.flow.syntax.inside(value)
        )
    ]


def _enters_dot(name: str, loop: KernelLoop) -> bool:
    return any(name in loop.flow.origins(*_factors(dot)) for dot in dots_in(loop))


def _factors(dot: LanguageCall) -> list[ast.expr]:
    return dot.node.args[:2]


def _is_stored(name: str, loop: KernelLoop) -> bool:
    stored = [store.node.args[1] for store in stores_in(loop) if len(store.node.args) > 1]
    return any(name in loop.flow.origins(value) for value in stored)


def _operation(node: ast.AST, source: KernelSource) -> str:
    if not isinstance(node, ast.Call):
        return ""
    dotted = source.dotted(node.func) or ""
    if dotted.startswith(LANGUAGE):
        return dotted.rpartition(".")[2]
    return node.func.id if isinstance(node.func, ast.Name) and node.func.id in EXTREMES else ""


def _argument_names(call: ast.Call) -> set[str]:
    return {arg.id for arg in call.args if isinstance(arg, ast.Name)}


class _Accumulation:
    """How one carried name is built up from its own last value."""

    def __init__(self, name: str, flow: Flow, source: KernelSource) -> None:
        self.name, self.flow, self.source = name, flow, source
        self.expanding: set[str] = set()

    def operators(self) -> set[str] | None:
        """The kinds of operator between the old and the new value; None when it is more than that."""
        return self._all([binding.value for binding in self.flow.by_name[self.name]])

    def _all(self, values: Sequence[ast.AST]) -> set[str] | None:
        groups: set[str] = set()
        for value in values:
            found = self._of(value)
            if found is None:
                return None
            groups |= found
        return groups

    def _of(self, value: ast.AST) -> set[str] | None:
        if isinstance(value, ast.Name):
            return self._of_name(value.id)
        if self.name not in self.flow.origins(value):
            return set()
        operation = operands(value)
        if operation is not None and type(operation.op) in OPERATOR_GROUPS:
            sides = [s for s in (operation.left, operation.right) if self.name in self.flow.origins(s)]
            inner = self._of(sides[0]) if len(sides) == 1 else None
            return None if inner is None else inner | {OPERATOR_GROUPS[type(operation.op)]}
        called = _operation(value, self.source)
        if isinstance(value, ast.Call) and called in {"where", *EXTREMES}:
            inner = self._all(value.args[1:] if called == "where" else value.args)
            return inner if inner is None or called == "where" else inner | {called}
        if isinstance(value, ast.Call) and called in DOTS:
            return None if self.name in self.flow.origins(*value.args[:2]) else {"sum"}
        return None

    def _of_name(self, name: str) -> set[str] | None:
        if name == self.name or name not in self.flow.by_name or name in self.expanding:
            return set()
        self.expanding.add(name)
        found = self._all([binding.value for binding in self.flow.by_name[name]])
        self.expanding.discard(name)
        return found
