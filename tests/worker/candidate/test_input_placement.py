"""Inputs that a candidate changed are noticed without a copy of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tilesmith.worker.candidate import input_placement
from tilesmith.worker.candidate.input_placement import changed, fingerprints
from tilesmith.worker.task.forward_arguments import ForwardArguments

TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


def noticed(values: list[object], change: Callable[[], object], **named: object) -> list[str]:
    arguments = ForwardArguments(values, named)
    before = fingerprints(arguments)
    change()
    return changed(before, fingerprints(arguments))


@pytest.mark.parametrize("dtype", [*TYPES, torch.complex64, torch.complex128], ids=str)
def test_one_changed_element_is_noticed_and_none_is_not(dtype: torch.dtype) -> None:
    x, y = torch.zeros(7, 5, dtype=dtype), torch.zeros(3, dtype=dtype)
    assert noticed([x, 3, {"y": y}], lambda: None) == []
    assert noticed([x, 3, {"y": y}], lambda: x[3, 2].fill_(1)) == ["input 0"]
    assert noticed([x, 3, {"y": y}], lambda: y[0].fill_(1)) == ["input 2"]
    assert noticed([x], lambda: y[1].fill_(1), mask=[y]) == ["input 'mask'"]


@pytest.mark.parametrize("chunk", [4, 1 << 24])
def test_swapped_elements_are_noticed_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(input_placement, "_CHUNK", chunk)
    x = torch.arange(11.0)
    assert noticed([x], lambda: x.copy_(x.flip(0))) == ["input 0"]


def test_nan_equals_itself_and_views_are_read_through_their_strides() -> None:
    base = torch.full((4, 4), torch.nan)
    assert noticed([base.T[::2]], lambda: base[0, 1].fill_(0.0)) == []
    assert noticed([base.T[::2]], lambda: base[0, 2].fill_(0.0)) == ["input 0"]
    assert noticed([torch.empty(0), torch.tensor(1.0)], lambda: None) == []
