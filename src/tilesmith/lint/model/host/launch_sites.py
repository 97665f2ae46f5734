"""Find where host code starts kernels: `kernel[grid](...)` and its many disguises."""

from __future__ import annotations

import ast

from tilesmith.lint.model.host.kernel_names import KernelNames, tail
from tilesmith.lint.model.host.reachability import FUNCTIONS
from tilesmith.lint.model.source import FunctionNode, HostLoop, JitFunction, LaunchSite
from tilesmith.lint.model.syntax.call_arguments import keyword
from tilesmith.lint.model.syntax.names import Imports
from tilesmith.lint.model.syntax.tree import SyntaxTree

RUNS = frozenset({"run", "warmup"})
RUN_KEYWORDS = frozenset({"grid", "stream"})
"""`kernel.run(...)` with one of these starts a kernel; Inductor's launchers take a stream."""


def find_launches(
    syntax: SyntaxTree, imports: Imports, jit_functions: tuple[JitFunction, ...]
) -> tuple[LaunchSite, ...]:
    """Launches in source order; without any import of Triton nothing counts as one."""
    if not any(dotted.partition(".")[0] == "triton" for dotted in imports.values()):
        return ()
    names = KernelNames(syntax, jit_functions)
    device_code = {function.node for function in jit_functions}
    found = []
    for node in syntax.nodes:
        if type(node) is ast.Call and (started := _started(node, names)) is not None:
            launch = _read_launch(node, started, syntax, device_code)
            if launch.function not in device_code:
                found.append(launch)
    return tuple(sorted(found, key=lambda launch: launch.line))


def _started(call: ast.Call, names: KernelNames) -> frozenset[str] | None:
    """The kernels this call may start, or None when it is no launch."""
    match call.func:
        case ast.Subscript():
            started = names.kernels_in(call.func.value)
            return started if started or names.looks_like_grid(call.func.slice) else None
        case ast.Attribute(attr=method) if method in RUNS:
            started = names.kernels_in(call.func.value)
            return started if started and any(k.arg in RUN_KEYWORDS for k in call.keywords) else None
        case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
            return names.launchers.get(tail(call.func))
    return None


def _read_launch(
    call: ast.Call, kernels: frozenset[str], syntax: SyntaxTree, jit: set[ast.FunctionDef]
) -> LaunchSite:
    loops: list[HostLoop] = []
    function: FunctionNode | None = None
    below: ast.AST = call
    for node in syntax.ancestors(call):
        if isinstance(node, (ast.For, ast.While)) and below in node.body:
            loops.append(node)
        elif isinstance(node, FUNCTIONS):
            function = node
            break
        below = node
    names = {node.name for node in jit}
    subscript = isinstance(call.func, ast.Subscript)
    named = call.func.value if isinstance(call.func, (ast.Subscript, ast.Attribute)) else call.func
    return LaunchSite(
        kernels=kernels,
        line=call.lineno,
        node=call,
        grid=call.func.slice if isinstance(call.func, ast.Subscript) else keyword(call, "grid"),
        function=function,
        loops=tuple(loops),
        direct=subscript and isinstance(named, ast.Name) and named.id in names and len(kernels) == 1,
    )
