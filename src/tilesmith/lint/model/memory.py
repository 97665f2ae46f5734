"""Analyses that several rules ask for are made once per source and forgotten with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tilesmith.lint.model.source import JitFunction, KernelSource

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def remembered(analysis: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The result lives in the memory of the source, or of the jit function's tree, among the arguments."""

    @wraps(analysis)
    def recall(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        memory = _memory(args)
        key = (analysis, args, tuple(sorted(kwargs.items())))
        if key not in memory:
            memory[key] = analysis(*args, **kwargs)
        found: Result = memory[key]
        return found

    return recall


def _memory(args: tuple[Any, ...]) -> dict[Any, Any]:
    for argument in args:
        if isinstance(argument, KernelSource):
            return argument.syntax.memory
        if isinstance(argument, JitFunction):
            return argument.flow.syntax.memory
    raise TypeError("a remembered analysis needs a source or a jit function to remember it")
