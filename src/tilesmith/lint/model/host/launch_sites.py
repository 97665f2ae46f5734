"""Find where host code starts kernels: `kernel[grid](...)` and its many disguises."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from tilesmith.lint.model.host.reachability import FUNCTIONS
from tilesmith.lint.model.source import HostLoop, JitFunction, LaunchSite
from tilesmith.lint.model.syntax.call_arguments import FunctionNode, keyword, last_name
from tilesmith.lint.model.syntax.names import Imports
from tilesmith.lint.model.syntax.tree import SyntaxTree

LONGEST_ALIAS_CHAIN = 4
PARTIAL = "partial"


class KernelNames:
    """Names that may stand for kernels, and for which."""

    def __init__(self, syntax: SyntaxTree, jit_functions: tuple[JitFunction, ...]) -> None:
        self._jit = frozenset(function.name for function in jit_functions)
        self._grids = _names_for_grids(syntax)
        self._kernels: defaultdict[str, set[str]] = defaultdict(set)
        self._launchers: defaultdict[str, set[str]] = defaultdict(set)
        self._makers: defaultdict[str, set[str]] = defaultdict(set)
        """Functions that return `kernel[grid]`."""
        for name in self._jit:
            self._kernels[name].add(name)
        if jit_functions:
            self._follow(_assigned(syntax), _returned(syntax))

    @property
    def launchers(self) -> Mapping[str, frozenset[str]]:
        """Names that hold `kernel[grid]`, ready to be called."""
        return {name: frozenset(started) for name, started in self._launchers.items()}

    def _follow(self, assigned: list[tuple[str, ast.expr]], returned: list[tuple[str, ast.expr]]) -> None:
        for _ in range(LONGEST_ALIAS_CHAIN):
            for name, value in assigned + returned:
                if started := self.kernels_in(value):
                    self._kernels[name] |= started
            for names, bindings in ((self._launchers, assigned), (self._makers, returned)):
                for name, value in bindings:
                    if started := self._ready(value):
                        names[name] |= started

    def looks_like_grid(self, index: ast.expr) -> bool:
        if isinstance(index, ast.Tuple):
            return not any(isinstance(part, ast.Slice) for part in index.elts)
        return isinstance(index, ast.Lambda) or (isinstance(index, ast.Name) and index.id in self._grids)

    def kernels_in(self, value: ast.expr) -> frozenset[str]:
        """Kernels an expression can stand for: itself, an argument of a wrapper, an entry of a table."""
        parts: list[ast.expr] = []
        match value:
            case ast.Name() | ast.Attribute():
                return frozenset(self._kernels.get(last_name(value), ()))
            case ast.Call(func=ast.Subscript()):
                return frozenset()
            case ast.Call(func=ast.Name() | ast.Call()):
                parts = [value.func, *value.args]
            case ast.Call():
                parts = value.args
            case ast.IfExp():
                parts = [value.body, value.orelse]
            case ast.Tuple() | ast.List():
                parts = value.elts
            case ast.Dict():
                parts = value.values
            case ast.Subscript():
                parts = [value.value]
        return frozenset().union(*(self.kernels_in(part) for part in parts))

    def _ready(self, value: ast.expr) -> frozenset[str]:
        """Kernels that calling this expression would start: `kernel[grid]`, or a partial application of it."""
        match value:
            case ast.Subscript():
                named = isinstance(value.value, ast.Name) and value.value.id in self._jit
                return self.kernels_in(value.value) if named or self.looks_like_grid(value.slice) else frozenset()
            case ast.Call(args=[first, *_]) if last_name(value.func) == PARTIAL:
                return self._ready(first)
            case ast.Call(func=ast.Name(id=name)):
                return frozenset(self._makers.get(name, ()))
            case ast.Name() | ast.Attribute():
                return frozenset(self._launchers.get(last_name(value), ()))
            case ast.IfExp():
                return self._ready(value.body) | self._ready(value.orelse)
        return frozenset()


def _names_for_grids(syntax: SyntaxTree) -> frozenset[str]:
    """Names bound to a tuple, a lambda or a function of the meta-parameters."""
    bound = [
        target.id
        for node in syntax.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Tuple, ast.Lambda))
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    return frozenset(bound)


def _assigned(syntax: SyntaxTree) -> list[tuple[str, ast.expr]]:
    """What each assigned name could pass on."""
    bindings: list[tuple[str, ast.expr]] = []
    for node in syntax.nodes:
        if isinstance(node, ast.Assign):
            bindings += [(last_name(part), node.value) for target in node.targets for part in _parts(target)]
        elif isinstance(node, ast.For):
            bindings.append((last_name(node.target), node.iter))
    return [(name, value) for name, value in bindings if name]


def _parts(target: ast.expr) -> list[ast.expr]:
    """`kernel, block = table[name]` may bind a kernel to either name."""
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]


def _returned(syntax: SyntaxTree) -> list[tuple[str, ast.expr]]:
    """What each function returns."""
    functions = [node for node in syntax.nodes if isinstance(node, FUNCTIONS)]
    return [(function.name, value) for function in functions for value in _values_returned(function)]


def _values_returned(function: FunctionNode) -> list[ast.expr]:
    """Looking past expressions: a `return` is a statement."""
    found: list[ast.expr] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            found.append(node.value)
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            waiting += [c for c in ast.iter_child_nodes(node) if isinstance(c, (ast.stmt, ast.ExceptHandler))]
    return found


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
            return names.launchers.get(last_name(call.func))
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
