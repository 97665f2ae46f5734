"""Real arguments of a call, described as records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tilesmith.errors import TaskError
from tilesmith.records import ArgumentSpec

_PLAIN = (bool, int, float, str, type(None))
_LETTERS = "nmkpqrstuvw"


def is_plain(value: Any) -> bool:
    """Whether text can hold the value and a guard can compare with it."""
    return type(value) in _PLAIN and not (isinstance(value, float) and not math.isfinite(value))


def describe_argument(path: tuple[Any, ...], value: Any) -> Iterator[ArgumentSpec]:
    """Raises TaskError in one line where a guard could not tell this argument from another."""
    kind = type(value).__name__
    if hasattr(value, "is_contiguous"):  # a tensor, and torch is not imported here
        if str(value.layout) != "torch.strided" or value.is_nested:
            raise TaskError(f"argument {path[0]} has a {'nested' if value.is_nested else value.layout} tensor")
        stride = None if value.is_contiguous() else tuple(value.stride())
        yield ArgumentSpec(path, "tensor", dtype_name(value.dtype), tuple(value.shape), stride)
    elif type(value) in (tuple, list, dict):
        keys = list(value) if kind == "dict" else list(range(len(value)))
        if not all(isinstance(key, str | int) for key in keys):
            raise TaskError(f"argument {path[0]} has a dict with keys that are neither text nor numbers")
        yield ArgumentSpec(path, kind, value=keys if kind == "dict" else len(keys))
        for key in keys:
            yield from describe_argument((*path, key), value[key])
    elif is_plain(value):
        yield ArgumentSpec(path, "value", value=value)
    else:
        raise TaskError(f"argument {path[0]} is a {kind}, which a guard cannot describe")


def dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def size_letter(letters: dict[Any, str], size: Any) -> str:
    """What a size that may be any is called: the same letter each time."""
    number = len(letters)
    return letters.setdefault(size, _LETTERS[number] if number < len(_LETTERS) else f"n{number}")
