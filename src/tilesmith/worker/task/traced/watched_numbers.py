"""Numbers among the arguments of `forward` that tell whether the pass looks at them.

What only hands a number on to PyTorch's operators does the same with any other number. What compares it or computes
with it may not: a branch, or a second number made of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_LOOKS = (
    *("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__bool__", "__hash__", "__int__", "__round__"),
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__"),
    *("__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__pow__", "__rpow__", "__neg__", "__abs__"),
    *("__trunc__", "__floor__", "__ceil__", "__float__", "__str__", "__repr__", "__format__", "is_integer"),
)


class WatchedNumber(float):
    """A float that notes when Python does something with it."""

    looked_at = False


def _watching(name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def method(self: WatchedNumber, *args: Any) -> Any:
        if any(isinstance(one, torch.Tensor) for one in args):
            return NotImplemented  # the tensor's own method takes it as it is
        self.looked_at = True
        return plain(self, *args)

    return method


for _name in _LOOKS:
    setattr(WatchedNumber, _name, _watching(_name))


def watch_numbers(value: Any, found: list[WatchedNumber]) -> Any:
    """The same nest of arguments with every float watched; `found` gets them in order."""
    if type(value) is float:
        found.append(WatchedNumber(value))
        return found[-1]
    if isinstance(value, dict):
        return {key: watch_numbers(item, found) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(watch_numbers(item, found) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(watch_numbers(item, found) for item in value)
    return value
