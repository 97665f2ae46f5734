"""Tensors inside nested lists, tuples and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch


def map_tensors(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """The same nest with something else in place of each tensor."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, change) for item in value))
    if type(value) in (list, tuple):
        return type(value)(map_tensors(item, change) for item in value)
    return value


def tensors_in(value: Any) -> list[torch.Tensor]:
    """In the order in which `map_tensors` meets them."""
    found: list[torch.Tensor] = []
    map_tensors(value, found.append)
    return found


def refilled(value: Any, tensors: Iterator[Any]) -> Any:
    return map_tensors(value, lambda _: next(tensors))


class BareText(str):
    """An expression in place of a tensor: whatever it stands in prints it without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
