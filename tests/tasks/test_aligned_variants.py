"""Shapes that divide as the original does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.tasks.aligned_variants import align, make_aligned_variants
from tilesmith.tasks.source import parse_task

TASK = """
import torch
from torch import nn
batch_size = 128
rows = 4096
ragged = 4000
class Model(nn.Module):
    def forward(self, x):
        return x
def get_inputs():
    return [torch.rand(batch_size, rows, ragged)]
def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("value", "expected"), [(4096, 256), (4000, 96), (393216, 768), (1000, 24), (64, 64), (7, 3), (1, 1), (0, 0)]
)
def test_a_size_keeps_its_power_of_two_up_to_the_cap(value: int, expected: int) -> None:
    assert align(value, 8) == expected


def test_variants_get_smaller_and_keep_what_is_ragged_ragged() -> None:
    variants = list(make_aligned_variants(parse_task(Path("task.py"), TASK)))
    rows = [variant.constants["rows"] for variant in variants]
    assert rows == sorted(rows, reverse=True)
    assert all(variant.constants["ragged"] % 64 for variant in variants)
    assert {variant.constants["batch_size"] for variant in variants} == {8, 2}
