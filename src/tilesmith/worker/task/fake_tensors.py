"""Shapes without memory: fake tensors that can do what constructors do to real ones.

torch casts a module (`self.half()`) by swapping its parameters, which it refuses for fakes, because the fake mode
itself holds weak references to them. And it asks a tensor that C code made (`torch.from_numpy`, `torch.Tensor`)
for its device where a pretended GPU answers in its stead.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from tilesmith.worker.compat.patches import Replacement, replace, replaced
from tilesmith.worker.compat.torch_names import FAKE_TENSOR_LOG, DisableTorchFunction, FakeTensor, FakeTensorMode
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda


@contextmanager
def fake_tensors() -> Iterator[None]:
    """Quiet, because a variant that fails is an answer, not news."""
    log = logging.getLogger(FAKE_TENSOR_LOG)
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), gpu_or_none(), _fake_mode(), _swapping_fakes():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def gpu_or_none() -> AbstractContextManager[None]:
    """Tasks may make their inputs with device="cuda"; without a GPU that must not keep them from being tried."""
    return nullcontext() if torch.cuda.is_available() else pretend_cuda()


def _fake_mode() -> FakeTensorMode:
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    converter = mode.fake_tensor_converter
    convert = converter.from_real_tensor

    def from_real_tensor(*args: Any, **kwargs: Any) -> FakeTensor:
        with DisableTorchFunction():
            return convert(*args, **kwargs)

    replace([Replacement(converter, "from_real_tensor", from_real_tensor)])
    return mode


def _swapping_fakes() -> AbstractContextManager[Any]:
    swap_real_ones = torch.utils.swap_tensors

    def swap_tensors(one: torch.Tensor, other: torch.Tensor) -> None:
        if isinstance(one, FakeTensor) and isinstance(other, FakeTensor):
            _swap(one, other)
        else:
            swap_real_ones(one, other)

    return replaced([Replacement(torch.utils, "swap_tensors", swap_tensors)])


def _swap(one: FakeTensor, other: FakeTensor) -> None:
    """Both keep their identity, so tied weights stay tied. The values that small fakes remember belong to the
    data they had, so they are forgotten."""
    kept = one.data
    one.data, other.data = other.data, kept
    one.fake_device, other.fake_device = other.fake_device, one.fake_device
    one.constant = other.constant = None
