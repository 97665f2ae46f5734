"""What a call of ours must not change in a model: its buffers, and whatever its modules keep between calls."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


@contextmanager
def putting_back(model: nn.Module) -> Iterator[None]:
    """What an example call in training mode would leave in buffers (running means) is undone."""
    kept = [(one, one.clone()) for one in model.buffers() if one.layout == torch.strided and not one.is_meta]
    try:
        yield
    finally:
        for buffer, value in kept:
            if not torch.equal(buffer, value):
                buffer.copy_(value)


@contextmanager
def keeping_attributes(model: nn.Module) -> Iterator[None]:
    """Tables, caches and numbers that modules set in a call on fake tensors are taken from them again."""
    held: list[Any] = [vars(one) for one in model.modules()]
    for _ in range(2):
        values = [value for one in held for value in (one.values() if isinstance(one, dict) else one)]
        held += [value for value in values if type(value) in (dict, OrderedDict, list, set)]
        held += [vars(value) for value in values if hasattr(value, "__dict__") and not callable(value)]
    kept = [(one, copy.copy(one)) for one in {id(one): one for one in held}.values()]
    try:
        yield
    finally:
        for one, before in kept:
            if isinstance(one, list):
                one[:] = before
                continue
            if list(one) != list(before):  # otherwise it is never empty: other threads may use the model
                one.clear()
            one.update(before)
