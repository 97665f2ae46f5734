"""The one reading of a candidate that every rule and the classifier share.

Parsing happens once, in `reading.read_kernel`; from then on a candidate is this plain, frozen model.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, ParamSpec, TypeVar

from tilesmith.lint.model.device.inference import ValueChange
from tilesmith.lint.model.device.values import UNKNOWN, DeviceValue
from tilesmith.lint.model.host.reachability import is_live
from tilesmith.lint.model.syntax.call_arguments import (
    FunctionNode,
    arguments_by_name,
    hides_arguments,
    keyword,
    parameters,
)
from tilesmith.lint.model.syntax.flow import Flow
from tilesmith.lint.model.syntax.names import Names
from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.vocabulary import LANGUAGE

MOST_NAMESAKES = 4
"""Functions of one name that are followed; a later definition replaces an earlier one anyway."""
MODEL_CLASS = "ModelNew"
HostLoop = ast.For | ast.While


class KernelSyntaxError(Exception):
    """The candidate's text is not a Python file we can read: where, and why."""

    def __init__(self, line: int | None, message: str, *, python_refuses: bool = True) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line
        self.message = message
        self.python_refuses = python_refuses
        """False when Python might read it and only this reader gives up."""


@dataclass(frozen=True)
class TaskFacts:
    """What is known beside the source: the task it answers and the plan it follows."""

    has_task: bool = False
    task_module: str | None = None
    """The name under which the task's file could be imported."""
    inputs: int | None = None
    """Arguments the task passes to `forward`."""
    init_arguments: int | None = None
    """Arguments the task passes to the constructor."""
    largest_elements: int | None = None
    """Of any tensor of the task, where its file says so."""
    planned_launches: int | None = None
    """Kernel launches per forward that the plan allows."""


@dataclass(frozen=True)
class LanguageCall:
    """A call of something in `triton.language`, whatever the author named the import."""

    name: str
    """The path below `triton.language`: `load`, `math.exp`, `extra.libdevice.tanh`."""
    line: int
    node: ast.Call

    @property
    def operation(self) -> str:
        """`exp` for `exp`, `math.exp` and `extra.libdevice.exp` alike."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True)
class AutotuneConfig:
    """One `triton.Config(...)` as written; a comprehension counts as one."""

    node: ast.Call
    meta: Mapping[str, ast.expr]
    """Meta-parameters by name."""
    options: Mapping[str, ast.expr]
    """`num_warps`, `num_stages`, ..."""


@dataclass(frozen=True)
class Autotune:
    """An `@triton.autotune(...)` above a kernel."""

    decorator: ast.Call
    configs: tuple[AutotuneConfig, ...]
    complete: bool
    """Every config that can occur is in `configs`, so that a meta-parameter missing there is missing."""
    count: int | None
    """How many configs it makes, where that can be counted."""
    key: tuple[str, ...] | None
    """None when it cannot be read; empty when absent."""

    @property
    def meta(self) -> frozenset[str]:
        return frozenset(name for config in self.configs for name in config.meta)


@dataclass(frozen=True)
class KernelLoop:
    """One loop of a jit function."""

    node: ast.For | ast.While
    flow: Flow
    """Assignments inside the body only."""
    indices: frozenset[str]
    """What counts the turns."""
    carried: frozenset[str]
    """Names set before the loop that each turn makes anew from their last value, counters apart."""
    calls: tuple[LanguageCall, ...]
    static: bool
    """Unrolled by the compiler: `tl.static_range`."""
    bounds: tuple[ast.expr, ...]
    """The arguments of `range`, or the test of a `while`."""

    def holds(self, node: ast.AST) -> bool:
        """In its body."""
        return any(self.flow.syntax.contains(part, node) for part in self.node.body)


@dataclass(frozen=True, eq=False)
class JitFunction:
    """A function that Triton compiles: a kernel, or a function kernels call."""

    name: str
    line: int
    node: ast.FunctionDef
    params: tuple[str, ...]
    constexprs: frozenset[str]
    defaults: Mapping[str, ast.expr]
    calls: tuple[LanguageCall, ...]
    """Calls of `triton.language`, in source order."""
    callees: frozenset[str]
    """Names this function mentions that are jit functions of the same file."""
    autotune: Autotune | None
    heuristics: frozenset[str] | None
    """Parameters that `@triton.heuristics` fills; None when it cannot be read; empty when absent."""
    flow: Flow
    loops: tuple[KernelLoop, ...]
    """Outermost first."""
    values: Mapping[ast.AST, DeviceValue]
    changes: Mapping[ast.stmt, tuple[ValueChange, ...]]
    """Names whose value a loop or a run-time branch changes, by that statement."""

    def calls_of(self, *operations: str) -> tuple[LanguageCall, ...]:
        return tuple(call for call in self.calls if call.operation in operations)

    def value(self, expression: ast.AST) -> DeviceValue:
        return self.values.get(expression, UNKNOWN)

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        return self.flow.syntax.inside(*self.node.body)

    def loops_around(self, node: ast.AST) -> list[KernelLoop]:
        """Outermost first."""
        return [loop for loop in self.loops if loop.holds(node)]


@dataclass(frozen=True, eq=False)
class LaunchSite:
    """`kernel[grid](...)` in host code, and what surrounds it inside its function."""

    kernels: frozenset[str]
    """Jit functions of this file it may start; empty when the kernel comes from elsewhere."""
    line: int
    node: ast.Call
    grid: ast.expr | None
    function: FunctionNode | None
    loops: tuple[HostLoop, ...]
    """Python loops around it in the same function, innermost first."""
    direct: bool
    """The kernel is named right there, so that all its arguments are in sight."""

    def bound_to(self, function: JitFunction) -> Mapping[str, ast.expr] | None:
        """Arguments by parameter name; None when some hide behind a star."""
        if hides_arguments(self.node):
            return None
        bound = arguments_by_name(function.params, self.node)
        return {name: value for name, value in bound.items() if name in function.params}

    def option(self, name: str) -> ast.expr | None:
        """A keyword such as `num_warps`."""
        return keyword(self.node, name)


@dataclass(frozen=True, eq=False)
class HostCode:
    """A function of the file that runs on the host."""

    node: FunctionNode
    owner: ast.ClassDef | None
    """The class it is a method of."""
    flow: Flow

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def params(self) -> list[str]:
        return parameters(self.node)


@dataclass(frozen=True, eq=False)
class KernelSource:
    """A candidate, read once."""

    text: str
    syntax: SyntaxTree
    names: Names
    facts: TaskFacts
    jit_functions: tuple[JitFunction, ...]
    launches: tuple[LaunchSite, ...]
    hosts: tuple[HostCode, ...]
    classes: tuple[ast.ClassDef, ...]
    has_model_class: bool
    live_functions: frozenset[ast.AST]
    """Functions that importing the file and running it can reach, as far as names tell."""
    surely_run: frozenset[ast.AST]
    """Host code that importing the file and one forward certainly executes."""
    surely_compiled: frozenset[ast.AST]
    """Device code that no untaken branch and no unused function can hide from the compiler."""

    def dotted(self, expression: ast.AST) -> str | None:
        """`triton.language.load` for `tl.load`, `ld` or whatever the author calls it."""
        return self.names.dotted.get(expression)

    def operation(self, node: ast.AST) -> str:
        """`exp` for a call of `tl.exp` or `libdevice.exp`; empty for anything else."""
        dotted = self.dotted(node.func) or "" if isinstance(node, ast.Call) else ""
        return dotted.rpartition(".")[2] if dotted.startswith(LANGUAGE) else ""

    def jit_named(self, name: str) -> tuple[JitFunction, ...]:
        return self._jit_by_name.get(name, ())

    @cached_property
    def _jit_by_name(self) -> Mapping[str, tuple[JitFunction, ...]]:
        found: dict[str, tuple[JitFunction, ...]] = {}
        for function in self.jit_functions:
            found[function.name] = (*found.get(function.name, ()), function)
        return found

    @cached_property
    def called_names(self) -> frozenset[str]:
        """Jit functions that some jit function of this file mentions."""
        return frozenset(name for function in self.jit_functions for name in function.callees)

    def with_callees(self, function: JitFunction) -> tuple[JitFunction, ...]:
        """The function and every jit function of this file it calls, directly or not."""
        seen: dict[int, JitFunction] = {}
        waiting = [function]
        while waiting:
            current = waiting.pop()
            if id(current) not in seen:
                seen[id(current)] = current
                for name in current.callees:
                    waiting += self.jit_named(name)[-MOST_NAMESAKES:]
        return tuple(seen.values())

    @cached_property
    def live_launches(self) -> tuple[LaunchSite, ...]:
        return tuple(launch for launch in self.launches if self.is_live(launch))

    @cached_property
    def live_hosts(self) -> tuple[HostCode, ...]:
        return tuple(host for host in self.hosts if host.node in self.live_functions)

    @cached_property
    def kernels(self) -> tuple[JitFunction, ...]:
        """The jit functions a live launch may start."""
        started = {name for launch in self.live_launches for name in launch.kernels}
        return tuple(function for function in self.jit_functions if function.name in started)

    def launches_of(self, function: JitFunction) -> tuple[LaunchSite, ...]:
        return tuple(launch for launch in self.live_launches if function.name in launch.kernels)

    def kernels_of(self, launch: LaunchSite) -> list[JitFunction]:
        """Those it may start."""
        return [function for name in launch.kernels for function in self.jit_named(name)]

    def is_live(self, launch: LaunchSite) -> bool:
        return self.runs(launch.node)

    def runs(self, node: ast.AST) -> bool:
        """Whether importing the file and running it can reach this node of host code."""
        return is_live(node, self.syntax, self.live_functions)

    def host_of(self, launch: LaunchSite) -> HostCode | None:
        return next((host for host in self.hosts if host.node is launch.function), None)


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def cached_per_source(analysis: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The result is kept in the cache of the source, or of the jit function's tree, among the arguments."""

    @wraps(analysis)
    def cached(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        cache = _cache_of(args)
        key = (analysis, args, tuple(sorted(kwargs.items())))
        if key not in cache:
            cache[key] = analysis(*args, **kwargs)
        found: Result = cache[key]
        return found

    return cached


def _cache_of(args: tuple[Any, ...]) -> dict[Any, Any]:
    for argument in args:
        if isinstance(argument, KernelSource):
            return argument.syntax.cache
        if isinstance(argument, JitFunction):
            return argument.flow.syntax.cache
    raise TypeError("a cached analysis needs a source or a jit function among its arguments")
