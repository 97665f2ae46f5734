"""Tensors between processes travel as files.

What a candidate writes is read back with `weights_only=True`: tensors, strings and lists, never code. What our
own reference child writes for the candidate may hold any constructor argument, so that direction is pickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import torch


class NotReturnable(Exception):
    """A forward returned something that is neither tensors nor plain values."""


def write_outputs(path: str, outputs: Any) -> None:
    """Nested outputs of a forward, as one file: the shape of the nest as JSON, the tensors beside it."""
    tensors: list[torch.Tensor] = []
    layout = json.dumps(_layout(outputs, tensors))
    torch.save({"layout": layout, "tensors": [_plain(tensor) for tensor in tensors]}, path)


def read_outputs(path: str, device: str) -> Flat:
    data = torch.load(path, weights_only=True, map_location=device)
    return Flat(json.loads(data["layout"]), data["tensors"])


class Flat:
    """Nested outputs taken apart: a JSON layout that can be compared, and the tensors in order."""

    def __init__(self, layout: Any, tensors: list[torch.Tensor]) -> None:
        self.layout = layout
        self.tensors = tensors


def flatten(outputs: Any) -> Flat:
    tensors: list[torch.Tensor] = []
    layout = _layout(outputs, tensors)
    return Flat(json.loads(json.dumps(layout)), tensors)


def _layout(value: Any, tensors: list[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        tensors.append(value.detach())
        return "tensor"
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _layout(getattr(value, f.name), tensors) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _layout(item, tensors) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_layout(item, tensors) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    raise NotReturnable(f"forward returned a {type(value).__name__}; return tensors")


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous CPU copy that owns exactly its elements."""
    dense = tensor.to_dense() if tensor.is_sparse else tensor
    return dense.detach().resolve_conj().resolve_neg().to("cpu").contiguous().clone()


def map_tensors(value: Any, change: Any) -> Any:
    """The same nest of lists, tuples and dictionaries with `change` applied to every tensor."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {key: map_tensors(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, change) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(map_tensors(item, change) for item in value)
    return value


def tensors_in(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_tensors(value, found.append)
    return found


def write_trusted(path: str, value: Any) -> None:
    torch.save(value, path)


def read_trusted(path: str) -> Any:
    return torch.load(path, weights_only=False, map_location="cpu")
