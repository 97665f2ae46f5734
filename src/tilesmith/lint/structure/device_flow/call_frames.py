"""Device code as it is called: a kernel, and each jit function it calls with the arguments it gets there.

A name in a called function can then be followed to what the caller passed, across any number of calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tilesmith.lint.model.source import JitFunction, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import arguments_by_name
from tilesmith.lint.model.syntax.flow import Binding
from tilesmith.lint.structure.device_flow.reaching_definitions import MOST_ASSIGNMENTS, reaching

DEEPEST_CALL = 4
MOST_FRAMES = 40
"""Of one kernel; calls beyond that are not followed."""


class FramedNode(NamedTuple):
    """An expression and the frame its names belong to."""

    node: ast.AST
    frame: CallFrame


@dataclass(frozen=True, eq=False)
class CallFrame:
    """One function as called from one place."""

    function: JitFunction
    passed: Mapping[str, FramedNode] = field(default_factory=dict)
    """What the caller gives for each parameter; empty for a kernel."""
    caller: CallFrame | None = None
    call: ast.Call | None = None
    """Where the caller calls it."""

    @property
    def root(self) -> CallFrame:
        return self if self.caller is None else self.caller.root

    @property
    def kernel(self) -> JitFunction:
        return self.root.function

    @property
    def depth(self) -> int:
        return 0 if self.caller is None else self.caller.depth + 1

    def bindings(self, name: str) -> tuple[Binding, ...]:
        return self.function.flow.by_name.get(name, ())

    def values(self, name: ast.Name) -> list[FramedNode]:
        """All that this name can stand for where it is read.

        Nothing where nothing here says so: a parameter without caller, a part of a tuple, a name from outside.
        """
        if len(self.bindings(name.id)) > MOST_ASSIGNMENTS:
            return []
        bindings = reaching(self.function.flow, name)
        if not bindings:
            return [self.passed[name.id]] if name.id in self.passed else []
        return [FramedNode(b.value, self) for b in bindings] if all(b.whole for b in bindings) else []

    def behind(self, *expressions: ast.AST) -> list[FramedNode]:
        """Every node of the expressions and of all they are made of, in this frame and in its callers."""
        flow = self.function.flow
        found = [FramedNode(node, self) for node in flow.parts_behind(*expressions)]
        for name in flow.origins(*expressions) & self.passed.keys():
            place = self.passed[name]
            found += place.frame.behind(place.node)
        return found


@cached_per_source
def frames_of(source: KernelSource) -> tuple[CallFrame, ...]:
    """Every frame of every kernel that runs, callers before what they call."""
    return tuple(frame for kernel in _entries(source) for frame in _frames(kernel, source))


def _entries(source: KernelSource) -> list[JitFunction]:
    """Launched kernels; without a model also what other files may launch."""
    if source.has_model_class:
        return list(source.kernels)
    started = {id(kernel) for kernel in source.kernels}
    return [f for f in source.jit_functions if id(f) in started or f.name not in source.called_names]


def _frames(kernel: JitFunction, source: KernelSource) -> list[CallFrame]:
    frames = [CallFrame(kernel)]
    for frame in frames:
        if frame.depth < DEEPEST_CALL and frame.function.callees:
            frames += list(_called(frame, source))[: max(MOST_FRAMES - len(frames), 0)]
    return frames


def _called(frame: CallFrame, source: KernelSource) -> Iterator[CallFrame]:
    for node in frame.function.nodes:
        if type(node) is ast.Call and isinstance(node.func, ast.Name) and node.func.id in frame.function.callees:
            named = source.jit_named(node.func.id)
            if len(named) == 1:
                yield CallFrame(named[0], _passed(node, named[0], frame), frame, node)


def _passed(call: ast.Call, function: JitFunction, frame: CallFrame) -> dict[str, FramedNode]:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return {}
    given = {**function.defaults, **arguments_by_name(function.params, call)}
    return {name: FramedNode(value, frame) for name, value in given.items() if name in function.params}
