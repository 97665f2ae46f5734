"""Python loops that step through a tensor and start kernels on the way, however many calls lie between.

A loop over layers (`for layer in self.layers`, `for i in range(n): x = f(x, self.weights[i])`) is no time
loop: what it indexes belongs to the module, not to the data.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilesmith.lint.model.flow import Flow, read_flow
from tilesmith.lint.model.source import HostCode, HostLoop, KernelSource
from tilesmith.lint.model.syntax import Syntax

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
STEPPING = frozenset({"unbind", "split", "chunk"})


@dataclass(frozen=True)
class TimeLoop:
    """A host loop over the steps of a tensor with a launch inside."""

    line: int
    node: HostLoop
    carries_state: bool
    """Something computed in one turn is used in the next."""


def find_time_loops(source: KernelSource) -> tuple[TimeLoop, ...]:
    """Each loop once, outermost first; only loops that live code reaches."""
    if not source.launches:
        return ()
    launching = _launching_functions(source)
    launches = {launch.node for launch in source.launches}
    found = []
    for host in source.live_hosts:
        for loop in _own_loops(host, source.syntax):
            if _starts_kernel(loop, launches, launching, source.syntax) and _steps_through_data(loop, host):
                found.append(TimeLoop(loop.lineno, loop, _carries_state(loop, source.syntax)))
    return tuple(sorted(found, key=lambda loop: loop.line))


def _launching_functions(source: KernelSource) -> frozenset[str]:
    """Names of functions and classes whose call ends in a launch, directly or through others."""
    launching = {launch.function.name for launch in source.launches if launch.function is not None}
    callers = [(host.name, _called_names(source.syntax, host.node)) for host in source.hosts]
    for _ in range(4):
        launching |= {name for name, called in callers if called & launching}
        launching |= {c.name for c in source.classes if _method_names(c) & launching & {"forward", "__call__"}}
    return frozenset(launching - {"forward", "__init__", "__call__"})


def _method_names(node: ast.ClassDef) -> set[str]:
    return {method.name for method in node.body if isinstance(method, FUNCTIONS)}


def _called_names(syntax: Syntax, *nodes: ast.AST) -> set[str]:
    calls = [part.func for part in syntax.inside(*nodes) if isinstance(part, ast.Call)]
    names = {func.id for func in calls if isinstance(func, ast.Name)}
    methods = [func for func in calls if isinstance(func, ast.Attribute)]
    owners = {m.value.id for m in methods if m.attr == "apply" and isinstance(m.value, ast.Name)}
    return names | owners | {method.attr for method in methods}


def _own_loops(host: HostCode, syntax: Syntax) -> Iterator[HostLoop]:
    return (node for node in syntax.inside(host.node) if isinstance(node, (ast.For, ast.While)))


def _starts_kernel(loop: HostLoop, launches: set[ast.Call], launching: frozenset[str], syntax: Syntax) -> bool:
    inside = syntax.inside(*loop.body)
    return any(part in launches for part in inside) or bool(_called_names(syntax, *loop.body) & launching)


def _steps_through_data(loop: HostLoop, host: HostCode) -> bool:
    """The loop's variable picks slices out of something that is not a member of the module."""
    flow, syntax = host.flow, host.flow.syntax
    if isinstance(loop, ast.For):
        indices = syntax.names(loop.target)
        if _iterates_over_tensor(loop.iter):
            return True
    else:
        indices = {b.name for b in read_flow(syntax, loop.body).bindings} & syntax.names(loop.test)
    inside = syntax.inside(*loop.body)
    picks = [part for part in inside if isinstance(part, ast.Subscript) and _is_data(part.value, flow)]
    launched = [p for p in inside if isinstance(p, ast.Call) and isinstance(p.func, ast.Subscript)]
    passed = [arg for call in launched for arg in [*call.args, *(k.value for k in call.keywords)]]
    return any(syntax.names(pick.slice) & indices for pick in picks) or any(
        isinstance(arg, (ast.Name, ast.BinOp)) and syntax.names(arg) & indices and _counts(loop) for arg in passed
    )


def _counts(loop: HostLoop) -> bool:
    """The loop's variable is a number, so that passing it to a kernel tells the step."""
    if isinstance(loop, ast.While):
        return True
    function = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    return isinstance(function, ast.Name) and function.id == "range"


def _iterates_over_tensor(iterated: ast.expr) -> bool:
    """`for x_t in x.unbind(1)`."""
    calls = [part for part in ast.walk(iterated) if isinstance(part, ast.Call)]
    return any(isinstance(call.func, ast.Attribute) and call.func.attr in STEPPING for call in calls)


def _is_data(value: ast.expr, flow: Flow) -> bool:
    """Not `self.weights` and not a name that only stands for such a member."""
    root = value
    while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name) or root.id == "self":
        return False
    bound = flow.by_name.get(root.id, ())
    lists = [b for b in bound if isinstance(b.value, (ast.List, ast.Tuple, ast.Dict, ast.ListComp))]
    members = [b for b in bound if _is_member(b.value)]
    return not bound or len(lists) + len(members) < len(bound)


def _is_member(value: ast.AST) -> bool:
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        value = value.value
        if isinstance(value, ast.Name):
            return value.id == "self"
    return False


def _carries_state(loop: HostLoop, syntax: Syntax) -> bool:
    """A name made in the body from its own earlier value, or a buffer handed to every launch."""
    flow = read_flow(syntax, loop.body)
    steps = syntax.names(loop.target if isinstance(loop, ast.For) else loop.test)
    return any(name not in steps and name in flow.origins_of(name) for name in flow.by_name)
