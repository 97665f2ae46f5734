"""Does a loop in device code run through time: does one step's state feed the next step's arithmetic?

Accumulators (`acc += x`, `tl.dot(a, b, acc)`, a running maximum) are carried too, but each step adds to them
without looking at them. A state is transformed: it goes through a dot, a gate, a decay.
"""

from __future__ import annotations

import ast

from tilesmith.lint.model.device.kernel_loops import advancing_loads, dots_in, stores_in
from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.structure.addresses.buffers import helper_calls
from tilesmith.lint.structure.device_flow.value_flow import ValueFlow
from tilesmith.lint.structure.recurrence.state_in_memory import recurs_in_memory
from tilesmith.lint.structure.reductions.accumulation import EXTREMES, INTEGER, carried_by, operation
from tilesmith.lint.vocabulary import DOTS, EXPONENTIALS, LOADS, words

GATES = words("exp exp2 sigmoid tanh erf")


def is_recurrent(loop: KernelLoop, source: KernelSource) -> bool:
    """The loop steps through its input and carries a state through registers or through memory."""
    return _is_recurrent(loop.node, source)


@cached_per_source
def _is_recurrent(node: ast.AST, source: KernelSource) -> bool:
    function = _function_of(node, source)
    reading = _RecurrenceReading(next(loop for loop in function.loops if loop.node is node), source)
    if not reading.steps_through_input() or reading.keeps_extreme():
        return False
    return reading.recurs_in_registers() or recurs_in_memory(reading.loop, function, source)


def is_sequential_scan(loop: KernelLoop, source: KernelSource) -> bool:
    """A running total that is stored at every step."""
    reading = _RecurrenceReading(loop, source)
    return any(reading.is_stored(name) for name in reading.data_carried())


def time_loops(function: JitFunction, source: KernelSource) -> list[KernelLoop]:
    """The recurrent loops of a function, without those that lie inside another."""
    found = [loop for loop in function.loops if is_recurrent(loop, source)]
    inner = {id(other.node) for loop in found for other in found if _inside(other, loop)}
    return [loop for loop in found if id(loop.node) not in inner]


def keeps_extreme(loop: KernelLoop, source: KernelSource) -> bool:
    """A running maximum of data, the mark of an online softmax; a bound such as 0 makes none."""
    return _RecurrenceReading(loop, source).keeps_extreme()


def _compares(call: ast.Call, name: str) -> bool:
    itself = [arg for arg in call.args if isinstance(arg, ast.Name) and arg.id == name]
    others = [arg for arg in call.args if arg not in itself and not isinstance(arg, ast.Constant)]
    return bool(itself and others)


def _inside(inner: KernelLoop, outer: KernelLoop) -> bool:
    return inner is not outer and outer.flow.syntax.contains(outer.node, inner.node)


@cached_per_source
def _function_of(loop_node: ast.AST, source: KernelSource) -> JitFunction:
    return next(f for f in source.jit_functions if any(loop.node is loop_node for loop in f.loops))


@cached_per_source
def _operations(function: JitFunction, source: KernelSource) -> frozenset[str]:
    return frozenset(call.operation for part in source.with_callees(function) for call in part.calls)


class _RecurrenceReading:
    """One loop, with the jit functions it calls."""

    def __init__(self, loop: KernelLoop, source: KernelSource) -> None:
        self.loop, self.source = loop, source
        self.flow = ValueFlow.of(loop.flow, source)
        self.function = _function_of(loop.node, source)
        self.moving = loop.indices | loop.carried
        inside = [c for c in helper_calls(source, self.function) if loop.holds(c[0])]
        self.helpers = {call: _operations(callee, source) for call, callee in inside}
        self.callees = dict(inside)

    def steps_through_input(self) -> bool:
        """Some load, here or in a called function, moves with the loop."""
        return bool(advancing_loads(self.loop)) or any(
            operations & LOADS and self._moves(*all_arguments(call)) for call, operations in self.helpers.items()
        )

    def _moves(self, *expressions: ast.expr) -> bool:
        return bool(self.loop.flow.origins(*expressions) & self.moving)

    def keeps_extreme(self) -> bool:
        called = {call.operation for call in self.loop.calls}.union(*self.helpers.values())
        if not (called | self.loop.flow.syntax.names(*self.loop.node.body)) & EXTREMES:
            return False
        for name in self.loop.carried:
            for part in self.flow.parts_behind(*self.flow.values_of(name)):
                if isinstance(part, ast.Call):
                    if operation(part, self.source) in EXTREMES and _compares(part, name):
                        return True
                    inside = self.helpers.get(part, frozenset())
                    if inside & EXTREMES and inside & EXPONENTIALS and name in self.flow.names(*part.args):
                        return True
        return False

    def data_carried(self) -> list[str]:
        """Carried names whose new value depends on something loaded, or on a dot, in the loop."""
        wanted = LOADS | DOTS
        return [
            name
            for name in sorted(self.loop.carried)
            if name in self.flow.origins_of(name)
            and any(
                operation(part, self.source) in wanted or self.helpers.get(part, frozenset()) & wanted
                for part in self.flow.parts_behind(*self.flow.values_of(name))
                if isinstance(part, ast.Call)
            )
        ]

    def is_stored(self, name: str) -> bool:
        stored = [store.node.args[1] for store in stores_in(self.loop) if len(store.node.args) > 1]
        return any(name in self.flow.origins(value) for value in stored)

    def recurs_in_registers(self) -> bool:
        for name in self.data_carried():
            if self._enters_dot(name):
                return True
            groups = carried_by(name, self.flow, self.source)
            if groups is None and (self._is_gated(name) or self.is_stored(name)):
                return True
            if groups is not None and len(groups) > 1 and INTEGER not in groups and self.is_stored(name):
                return True
        return False

    def _enters_dot(self, name: str) -> bool:
        if any(name in self.flow.origins(*dot.node.args[:2]) for dot in dots_in(self.loop)):
            return True
        return any(self._enters_dot_inside(call, name) for call in self.helpers)

    def _enters_dot_inside(self, call: ast.Call, name: str) -> bool:
        callee = self.callees[call]
        given = zip(callee.params, call.args, strict=False)
        names = {parameter for parameter, value in given if name in self.flow.origins(value)}
        dots = callee.calls_of(*DOTS)
        return any(callee.flow.origins(*dot.node.args[:2]) & names for dot in dots)

    def _is_gated(self, name: str) -> bool:
        """Its own last value goes through a nonlinearity."""
        return any(
            isinstance(part, ast.Call)
            and (operation(part, self.source) in GATES or self.helpers.get(part, frozenset()) & GATES)
            and name in self.flow.origins(*part.args)
            for part in self.flow.parts_behind(*self.flow.values_of(name))
        )
