"""A launch in words: the kernel, its grid, and each argument as far as it is not the contents of memory.

Two processes that run the same host code on the same values must write the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_MOST_LAUNCHES = 64

FirstCall = dict[str, Any]
"""`launches`: kernel, grid, and arguments by name, null for a kernel compiled before its launch. `complete` is
false where the call failed on the way."""


def arguments_in_words(arguments: Mapping[str, Any]) -> dict[str, str]:
    return {name: _in_words(value) for name, value in arguments.items()}


def first_call(launches: Iterable[Any], complete: bool) -> FirstCall:
    """Each launch has `kernel`, `grid` and `arguments`."""
    told = [(launch.kernel, launch.grid, launch.arguments) for launch in launches]
    return {"launches": told[:_MOST_LAUNCHES], "complete": complete}


def _in_words(value: Any) -> str:
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_in_words, value))})"
    if hasattr(value, "dtype"):
        return f"a tensor {value.dtype} {tuple(getattr(value, 'shape', ()))}"
    return type(value).__name__
