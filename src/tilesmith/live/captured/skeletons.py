"""A module without its weights, as text that a task unpickles: for those whose forward pass cannot be written out.

Every tensor is replaced by its shape, dtype, mean and deviation; small ones travel whole. The classes come from the
user's package, so the import path of this process travels too.
"""

from __future__ import annotations

import base64
import inspect
import io
import os
import pickle
import sys
import zlib
from typing import Any

import torch
from torch import nn

from tilesmith.errors import TaskError

_WHOLE = 64
"""Tensors up to so many elements travel as they are; integers and booleans, which make tables, up to more."""
_WHOLE_TABLE = 65536
LOADER = '''
class Skeleton(pickle.Unpickler):
    """Makes random tensors like those that the module had."""

    def __init__(self, text):
        sys.path += [entry for entry in IMPORT_PATH if entry not in sys.path]
        self.tensors, skeleton = pickle.loads(zlib.decompress(base64.b64decode(text)))
        super().__init__(io.BytesIO(skeleton))
        self.made = {}

    def persistent_load(self, number):
        if number not in self.made:
            self.made[number] = self.make(*self.tensors[number])
        return self.made[number]

    def make(self, is_parameter, shape, dtype, gradient, values, mean, deviation):
        dtype = getattr(torch, dtype)
        if values is not None:
            tensor = torch.tensor(values, dtype=dtype).reshape(shape)
        else:
            tensor = (torch.randn(shape) * deviation + mean).to(dtype)
        return nn.Parameter(tensor, requires_grad=gradient) if is_parameter else tensor
'''


class _Weightless(pickle.Pickler):
    """Leaves tensors out and describes them in `tensors`."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=4)
        self.tensors: list[tuple[Any, ...]] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, torch.Tensor):
            return None
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.tensors)
            self.tensors.append(_described(value))
        return self._numbers[id(value)]


def _described(tensor: torch.Tensor) -> tuple[Any, ...]:
    plain = tensor.detach()
    is_table = not tensor.is_floating_point() and tensor.numel() <= _WHOLE_TABLE
    if tensor.is_complex() or (not tensor.is_floating_point() and not is_table):
        raise TaskError(f"it holds a {tensor.dtype} tensor of {tensor.numel()} elements, too many to travel whole")
    values = plain.reshape(-1).tolist() if tensor.numel() <= _WHOLE or is_table else None
    finite = plain.float().nan_to_num() if tensor.is_floating_point() else plain.float()
    statistics = (float(finite.mean()), float(finite.std(correction=0))) if tensor.numel() else (0.0, 0.0)
    dtype = str(tensor.dtype).removeprefix("torch.")
    return isinstance(tensor, nn.Parameter), tuple(tensor.shape), dtype, tensor.requires_grad, values, *statistics


def skeleton_text(module: nn.Module, why: Exception) -> str:
    """Raises TaskError where the module, which was not traced for the reason `why`, cannot be unpickled in another
    process, or could do something else there."""
    if any(type(one).__module__ == "__main__" for one in module.modules()):
        raise TaskError("its class is defined in the program itself: move it to a module that can be imported")
    file = io.BytesIO()
    pickler = _Weightless(file)
    try:
        pickler.dump(module)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise TaskError(f"it cannot be pickled: {error}") from None
    if module.training:
        raise TaskError(f"{why}; such code may draw random numbers in training: use model.eval() or --eval")
    return base64.b64encode(zlib.compress(pickle.dumps((pickler.tensors, file.getvalue())))).decode()


def import_path() -> list[str]:
    return [os.path.abspath(entry) for entry in sys.path if os.path.isdir(entry or os.curdir)]


def source_comment(module: nn.Module) -> list[str]:
    """The class as its author wrote it, for whoever writes a kernel."""
    try:
        return [f"# {line}".rstrip() for line in inspect.getsource(type(module)).splitlines()]
    except (OSError, TypeError):
        return []
