"""Find where host code starts kernels: `kernel[grid](...)` and its many disguises."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from tilesmith.lint.model.names import Imports
from tilesmith.lint.model.source import FunctionNode, HostLoop, JitFunction, Launch
from tilesmith.lint.model.syntax import Syntax

LONGEST_ALIAS_CHAIN = 4
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Kernels = Mapping[str, set[str]]
"""Names that may stand for kernels, and which."""


def find_launches(syntax: Syntax, imports: Imports, jit_functions: tuple[JitFunction, ...]) -> tuple[Launch, ...]:
    """Launches in source order; without any import of Triton nothing counts as one."""
    if not any(dotted.partition(".")[0] == "triton" for dotted in imports.values()):
        return ()
    kernels = _names_for_kernels(syntax, jit_functions)
    grids = _names_for_grids(syntax)
    device_code = {function.node for function in jit_functions}
    found = []
    for node in syntax.nodes:
        if type(node) is ast.Call and (started := _started(node, kernels, grids)) is not None:
            launch = _read_launch(node, started, syntax, device_code)
            if launch.function not in device_code:
                found.append(launch)
    return tuple(sorted(found, key=lambda launch: launch.line))


def _started(call: ast.Call, kernels: Kernels, grids: frozenset[str]) -> frozenset[str] | None:
    """The kernels this call may start, or None when it is no launch."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("run", "warmup"):
        started = _kernels_in(call.func.value, kernels)
        return started if started and any(keyword.arg == "grid" for keyword in call.keywords) else None
    if not isinstance(call.func, ast.Subscript):
        return None
    started = _kernels_in(call.func.value, kernels)
    return started if started or _looks_like_grid(call.func.slice, grids) else None


def _looks_like_grid(index: ast.expr, grids: frozenset[str]) -> bool:
    if isinstance(index, ast.Tuple):
        return not any(isinstance(part, ast.Slice) for part in index.elts)
    return isinstance(index, ast.Lambda) or (isinstance(index, ast.Name) and index.id in grids)


def _names_for_grids(syntax: Syntax) -> frozenset[str]:
    """Names bound to a tuple, a lambda or a function of the meta-parameters."""
    bound = [
        target.id
        for node in syntax.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Tuple, ast.Lambda))
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    return frozenset(bound)


def _names_for_kernels(syntax: Syntax, jit_functions: tuple[JitFunction, ...]) -> Kernels:
    """Kernel names, their aliases (`self.kernel = k`, `partial(k, ...)`) and factories that return them."""
    kernels: defaultdict[str, set[str]] = defaultdict(set)
    for function in jit_functions:
        kernels[function.name].add(function.name)
    bindings = _alias_bindings(syntax)
    for _ in range(LONGEST_ALIAS_CHAIN if jit_functions else 0):
        for name, value in bindings:
            if started := _kernels_in(value, kernels):
                kernels[name] |= started
    return kernels


def _alias_bindings(syntax: Syntax) -> list[tuple[str, ast.expr]]:
    """What each assigned name, and each function's `return`, could pass on."""
    bindings: list[tuple[str, ast.expr]] = []
    for node in syntax.nodes:
        if isinstance(node, ast.Assign):
            bindings += [(_tail(part), node.value) for target in node.targets for part in _parts(target)]
        elif isinstance(node, ast.For):
            bindings.append((_tail(node.target), node.iter))
        elif isinstance(node, FUNCTIONS):
            bindings += [(node.name, value) for value in _returned(node)]
    return [(name, value) for name, value in bindings if name]


def _parts(target: ast.expr) -> list[ast.expr]:
    """`kernel, block = table[name]` may bind a kernel to either name."""
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]


def _returned(function: FunctionNode) -> list[ast.expr]:
    """What a function returns, looking past expressions: a `return` is a statement."""
    found: list[ast.expr] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            found.append(node.value)
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            waiting += [c for c in ast.iter_child_nodes(node) if isinstance(c, (ast.stmt, ast.ExceptHandler))]
    return found


def _kernels_in(value: ast.expr, kernels: Kernels) -> frozenset[str]:
    """Kernels an expression can stand for: itself, an argument of a wrapper, an entry of a table."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        return frozenset(kernels.get(_tail(value), ()))
    if isinstance(value, ast.Call) and not isinstance(value.func, ast.Subscript):
        parts = [value.func, *value.args] if isinstance(value.func, (ast.Name, ast.Call)) else value.args
    elif isinstance(value, ast.IfExp):
        parts = [value.body, value.orelse]
    elif isinstance(value, (ast.Tuple, ast.List)):
        parts = value.elts
    elif isinstance(value, ast.Dict):
        parts = value.values
    elif isinstance(value, ast.Subscript):
        parts = [value.value]
    else:
        return frozenset()
    return frozenset().union(*(_kernels_in(part, kernels) for part in parts))


def _tail(expression: ast.expr) -> str:
    if isinstance(expression, ast.Name):
        return expression.id
    return expression.attr if isinstance(expression, ast.Attribute) else ""


def _read_launch(call: ast.Call, kernels: frozenset[str], syntax: Syntax, jit: set[ast.FunctionDef]) -> Launch:
    loops: list[HostLoop] = []
    function: FunctionNode | None = None
    guarded = False
    below: ast.AST = call
    for node in syntax.ancestors(call):
        if isinstance(node, (ast.For, ast.While)) and below in node.body:
            loops.append(node)
        elif isinstance(node, ast.Try):
            guarded = guarded or (below in node.body and bool(node.handlers))
        elif isinstance(node, FUNCTIONS):
            function = node
            break
        below = node
    names = {node.name for node in jit}
    subscript = isinstance(call.func, ast.Subscript)
    named = call.func.value if isinstance(call.func, (ast.Subscript, ast.Attribute)) else call.func
    return Launch(
        kernels=kernels,
        line=call.lineno,
        node=call,
        grid=call.func.slice if isinstance(call.func, ast.Subscript) else _keyword(call, "grid"),
        function=function,
        loops=tuple(loops),
        guarded=guarded,
        direct=subscript and isinstance(named, ast.Name) and named.id in names and len(kernels) == 1,
    )


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
