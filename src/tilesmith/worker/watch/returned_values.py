"""What forward may return: plain tensors in plain containers, whose values are there when it returns."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import fields, is_dataclass
from typing import Any

import torch

_TENSORS = (torch.Tensor, torch.nn.Parameter)
_READ_BY_US = ("__getattribute__", "__iter__", "__len__", "keys", "values", "items")
_CONTAINERS = (list, tuple, dict, OrderedDict)


def find_lazy_type(value: Any) -> str | None:
    """The type of something that could compute its values when somebody looks, or None."""
    kind = type(value)  # isinstance asks __class__, which an object may lie about
    if kind in _TENSORS or value is None or kind in (bool, int, float, str):
        return None
    if kind in (dict, OrderedDict):
        return _first(dict.values(value))
    if kind in _CONTAINERS or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return _first(tuple.__iter__(value) if issubclass(kind, tuple) else list.__iter__(value))
    if is_dataclass(kind) and issubclass(kind, dict) and not issubclass(kind, torch.Tensor):
        return kind.__name__ if _computes_items(kind) else _first(dict.values(value))
    if is_dataclass(kind) and not issubclass(kind, torch.Tensor):
        return (
            kind.__name__
            if _computes_fields(kind)
            else _first(getattr(value, field.name) for field in fields(kind))
        )
    if issubclass(kind, torch.Tensor) or _claims_to_hold_tensors(value):
        return kind.__name__
    return None  # neither tensor nor container: refused elsewhere, by what it is


def _computes_fields(kind: Any) -> bool:
    """Whether looking at a field of a dataclass may run code."""
    asks = kind.__getattribute__ is not object.__getattribute__ or hasattr(kind, "__getattr__")
    return asks or any(hasattr(getattr(kind, field.name, None), "__get__") for field in fields(kind))


def _computes_items(kind: type) -> bool:
    """Whether going through a dictionary that is a dataclass too, as Hugging Face's outputs are, may run code."""
    plain = OrderedDict if issubclass(kind, OrderedDict) else dict
    return hasattr(kind, "__getattr__") or any(getattr(kind, n) is not getattr(plain, n) for n in _READ_BY_US)


def _claims_to_hold_tensors(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or hasattr(type(value), "__getitem__")


def _first(values: Any) -> str | None:
    return next((found for found in map(find_lazy_type, values) if found is not None), None)
