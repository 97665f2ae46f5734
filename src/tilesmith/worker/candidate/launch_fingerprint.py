"""A launch in words: the kernel, its grid, its code, and each argument as far as it is not the contents of memory.

Two processes that run the same host code on the same values must write the same words, and so must two calls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from types import CodeType
from typing import Any

from tilesmith.process.protocol.candidate import LaunchFingerprint

_MOST_LAUNCHES = 64
_STEADY_CALLS = 8
_CODE = "its code"


def arguments_in_words(function: Any, arguments: Mapping[str, Any]) -> dict[str, str]:
    """`function` is the Python function below the kernel."""
    return {_CODE: _digest(function)} | {name: _in_words(value) for name, value in arguments.items()}


def fingerprints_of(launches: Iterable[Any]) -> tuple[LaunchFingerprint, ...]:
    """Each launch has `kernel`, `grid` and `arguments`."""
    some = islice(launches, _MOST_LAUNCHES)
    return tuple(LaunchFingerprint(one.kernel, tuple(one.grid), one.arguments) for one in some)


def changed_launches(
    first: Sequence[LaunchFingerprint], later: Sequence[Sequence[LaunchFingerprint]]
) -> str | None:
    """How later calls on the same inputs launch something else than the first, which may launch more.

    A number that is another in every call, a counter perhaps, is no change.
    """
    known = {(launch.kernel, launch.grid) for launch in first}
    for launch in chain.from_iterable(later):
        if (launch.kernel, launch.grid) not in known:
            return f"{launch.kernel} on a grid of {launch.grid}, which the first call on the same inputs did not"
    steady = 0
    for number, (before, now) in enumerate(pairwise(later), 1):
        if now != before and steady >= _STEADY_CALLS:
            return f"something else after {number} calls that were all alike"
        steady = steady + 1 if now == before else 0
    return None


def _digest(function: Any) -> str:
    return hashlib.sha256("\n".join(_code_in_words(function, set())).encode()).hexdigest()[:12]


def _code_in_words(function: Any, seen: set[int]) -> Iterator[str]:
    """The code of a function, of the kernels' helpers it calls, and the numbers it takes from its module."""
    code = getattr(function, "__code__", None)
    if code is None or id(function) in seen:
        return
    seen.add(id(function))
    yield from _instructions(code)
    for name in code.co_names:
        value = function.__globals__.get(name)
        if hasattr(value, "fn"):
            yield from _code_in_words(value.fn, seen)
        elif _is_number(value):
            yield f"{name} = {_in_words(value)}"


def _instructions(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)
        else:
            yield repr(constant)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | str) or type(value).__name__ == "constexpr"


def _in_words(value: Any) -> str:
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_in_words, value))})"
    if hasattr(value, "dtype"):
        return f"a tensor {value.dtype} {tuple(getattr(value, 'shape', ()))}"
    return type(value).__name__
