"""Analyses that several rules ask for are made once per source and dropped with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tilesmith.lint.model.source import JitFunction, KernelSource

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
