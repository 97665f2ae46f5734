"""The one reading of a candidate that every rule and the classifier share.

Parsing happens once, in `reading.read_kernel`; from then on a candidate is this plain, frozen model.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass


class KernelSyntaxError(Exception):
    """The candidate's text is not a Python file we can read: where, and why."""

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line
        self.message = message


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
class JitFunction:
    """A function that Triton compiles: a kernel, or a function kernels call."""

    name: str
    line: int
    node: ast.FunctionDef
    params: tuple[str, ...]
    constexprs: frozenset[str]
    calls: tuple[LanguageCall, ...]
    callees: frozenset[str]
    """Names this function calls that are jit functions of the same file."""
    autotuned: bool

    def calls_of(self, *operations: str) -> tuple[LanguageCall, ...]:
        return tuple(call for call in self.calls if call.operation in operations)


MOST_NAMESAKES = 4
"""Functions of one name that are followed; a later definition replaces an earlier one anyway."""
HostLoop = ast.For | ast.While
HostFunction = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Launch:
    """`kernel[grid](...)` in host code, and what surrounds it inside its function."""

    kernels: frozenset[str]
    """Jit functions of this file it may start; empty when the kernel comes from elsewhere."""
    line: int
    node: ast.Call
    function: HostFunction | None
    loops: tuple[HostLoop, ...]
    """Python loops around it in the same function, innermost first."""
    guarded: bool
    """Inside a `try` that catches, so that a failing kernel would go unnoticed."""


@dataclass(frozen=True)
class KernelSource:
    """A candidate, read once."""

    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    """The whole tree, walked once."""
    names: Mapping[ast.AST, str]
    """Canonical dotted name of each name or attribute that leads to an import."""
    parents: Mapping[ast.AST, ast.AST]
    jit_functions: tuple[JitFunction, ...]
    launches: tuple[Launch, ...]
    classes: tuple[ast.ClassDef, ...]
    has_model_class: bool
    live_functions: frozenset[ast.AST]
    """Functions that importing the file and running `ModelNew` can reach, as far as names tell."""
    surely_compiled: frozenset[ast.AST]
    """Device code that no untaken branch and no unused function can hide from the compiler."""

    def dotted(self, expression: ast.AST) -> str | None:
        """`triton.language.load` for `tl.load`, `ld` or whatever the author calls it."""
        return self.names.get(expression)

    def jit_named(self, name: str) -> tuple[JitFunction, ...]:
        return tuple(function for function in self.jit_functions if function.name == name)

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

    @property
    def kernels(self) -> tuple[JitFunction, ...]:
        """The jit functions a live launch may start."""
        started = {name for launch in self.launches if self.is_live(launch) for name in launch.kernels}
        return tuple(function for function in self.jit_functions if function.name in started)

    def is_live(self, launch: Launch) -> bool:
        return launch.function is None or launch.function in self.live_functions
