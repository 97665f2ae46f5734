"""Tensors between processes travel as files, or on the GPU beside a file.

What a candidate writes is raw bytes under a JSON header, never code. What our own reference child writes for the
candidate may hold any constructor argument, so that direction may be pickled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch

from tilesmith.process.descriptor import Descriptor
from tilesmith.process.protocol.tensors import TensorFile
from tilesmith.worker.tensors.tensor_file import read_tensors, share_tensors, write_tensors
from tilesmith.worker.tensors.trusted_pickle import read_trusted, write_trusted

PLAIN = "(value)"
"""Marks a value that is no tensor in the layout of outputs."""


class NotReturnable(Exception):
    """A forward returned something that is neither tensors nor plain values."""


def write_outputs(path: str, outputs: Any) -> Descriptor | None:
    """Nested outputs of a forward: the form of the nest as JSON, the tensors beside it."""
    tensors: list[torch.Tensor] = []
    layout = _layout(outputs, tensors)
    return write_tensors(path, tensors, layout)


def read_outputs(source: TensorFile, device: str) -> FlatOutputs:
    tensors, layout = read_tensors(source, device)
    return FlatOutputs(layout, tensors)


def write_inputs(path: str, inputs: Any, may_share: bool = True) -> Descriptor | None:
    """Arguments of a forward: the tensors raw, whatever else there is pickled beside them."""
    tensors: list[torch.Tensor] = []

    def slot(tensor: torch.Tensor) -> _TensorPosition:
        tensors.append(tensor)
        return _TensorPosition(len(tensors) - 1, tensor.stride())

    write_trusted(f"{path}.nest", map_tensors(inputs, slot))
    return write_tensors(path, tensors, may_share=may_share)


def share_inputs(inputs: Any) -> Descriptor | None:
    """The numbers of inputs that were written before, on the GPU."""
    return share_tensors(tensors_in(inputs))


def read_inputs(source: TensorFile, device: str) -> Any:
    tensors, _ = read_tensors(source, device)
    return _filled(read_trusted(f"{source.path}.nest"), tensors)


@dataclass(frozen=True)
class _TensorPosition:
    position: int
    stride: tuple[int, ...]


def _laid_out(tensor: torch.Tensor, stride: tuple[int, ...]) -> torch.Tensor:
    """With the strides it was made with, unless its elements overlap: kernels see what the task made."""
    overlaps = any(s == 0 and n > 1 for n, s in zip(tensor.shape, stride, strict=True))
    if overlaps or tensor.stride() == stride:
        return tensor
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def _filled(value: Any, tensors: list[torch.Tensor]) -> Any:
    if isinstance(value, _TensorPosition):
        return _laid_out(tensors[value.position], value.stride)
    if is_record(value):
        return _with_fields(value, lambda item: _filled(item, tensors))
    if isinstance(value, Mapping):
        return {key: _filled(item, tensors) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_filled(item, tensors) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(_filled(item, tensors) for item in value)
    return value


class FlatOutputs:
    """Nested outputs taken apart: a JSON layout that can be compared, and the tensors in order."""

    def __init__(self, layout: Any, tensors: list[torch.Tensor]) -> None:
        self.layout = layout
        self.tensors = tensors


def flatten(outputs: Any) -> FlatOutputs:
    tensors: list[torch.Tensor] = []
    layout = _layout(outputs, tensors)
    return FlatOutputs(json.loads(json.dumps(layout)), tensors)


def _layout(value: Any, tensors: list[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        tensors.append(value.detach())
        return "tensor"
    if is_record(value):
        value = {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, Mapping):
        named = {str(key): item for key, item in value.items()}
        return {key: _layout(named[key], tensors) for key in sorted(named)}  # in whatever order they were made
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_layout(item, tensors) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return {PLAIN: value}
    raise NotReturnable(f"forward returned a {type(value).__name__}; return tensors")


def map_tensors(value: Any, change: Any) -> Any:
    """The same nest of lists, tuples, dictionaries and dataclasses with `change` applied to every tensor."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if is_record(value):
        return _with_fields(value, lambda item: map_tensors(item, change))
    if isinstance(value, Mapping):
        return {key: map_tensors(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, change) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(map_tensors(item, change) for item in value)
    return value


def is_record(value: Any) -> bool:
    """A dataclass that is not a dictionary as well, as the outputs of Hugging Face's models are."""
    return is_dataclass(value) and not isinstance(value, type | Mapping)


def _with_fields(record: Any, change: Callable[[Any], Any]) -> Any:
    """A copy with every field changed, made without any code of the dataclass."""
    copy = object.__new__(type(record))
    if hasattr(record, "__dict__"):
        vars(copy).update(vars(record))
    for one in fields(record):
        object.__setattr__(copy, one.name, change(getattr(record, one.name)))
    return copy


def tensors_in(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_tensors(value, found.append)
    return found
