"""Constructors may do to fake tensors what they do to real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tilesmith.judge import Judge
from tilesmith.records import Verdict
from tilesmith.worker.task.fake_tensors import fake_tensors

TASK = """\
import numpy as np
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        CONSTRUCT

    def forward(self, x):
        return x * self.w


def get_inputs():
    return [torch.randn(64, 256).to(torch.DTYPE)]
"""
KERNEL = """\
import numpy as np
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_kernel(x_ptr, w_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, N, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + offs, mask=offs < N)
        w = tl.load(w_ptr + offs, mask=offs < N)
        tl.store(y_ptr + row * N + offs, x * w, mask=offs < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        CONSTRUCT

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        scale_kernel[(x.shape[0],)](x, self.w, y, x.shape[1], BLOCK=128)
        return y
"""
WEIGHT = "self.w = nn.Parameter(torch.randn(256))"


@pytest.mark.parametrize(
    ("construct", "dtype"),
    [
        (f"{WEIGHT}; self.to(torch.bfloat16)", "bfloat16"),
        pytest.param(f"{WEIGHT}; self.half()", "float16", marks=pytest.mark.slow_suite),
        ("self.w = nn.Parameter(torch.from_numpy(np.linspace(-1, 1, 256, dtype='float32')))", "float32"),
        pytest.param(
            "self.register_buffer('w', torch.Tensor([0.5] * 256))", "float32", marks=pytest.mark.slow_suite
        ),
    ],
)
def test_a_good_kernel_passes_whatever_the_constructor_does(
    judge: Judge, tmp_path: Path, construct: str, dtype: str
) -> None:
    task, kernel = tmp_path / "scale.py", tmp_path / "scale_kernel.py"
    task.write_text(TASK.replace("CONSTRUCT", construct).replace("DTYPE", dtype))
    kernel.write_text(KERNEL.replace("CONSTRUCT", construct))
    assert judge.survey(task).profile.dtype == dtype
    evaluation = judge.check(task, kernel)
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason


def test_a_cast_keeps_tied_weights_tied() -> None:
    with fake_tensors():
        one, other = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        other.weight = one.weight
        both = nn.Sequential(one, other).half()
        assert len(list(both.parameters())) == 1
        assert both(torch.ones(2, 4, dtype=torch.float16)).dtype is torch.float16


def test_a_cast_reaches_scalars_and_gradients() -> None:
    with fake_tensors():
        model = nn.PReLU()
        model.scale = nn.Parameter(torch.tensor(2.0))
        model(torch.ones(3) * model.scale).sum().backward()
        model.bfloat16()
        assert model.scale.grad is not None
        assert model.scale.grad.dtype is torch.bfloat16
        assert (model.scale * torch.ones(3, dtype=torch.bfloat16)).dtype is torch.bfloat16


def test_torch_swaps_as_before_afterwards() -> None:
    before = torch.utils.swap_tensors
    with fake_tensors():
        one, other = torch.zeros(2), torch.ones(3)
        torch.utils.swap_tensors(one, other)
        assert (one.shape, other.shape) == ((3,), (2,))
    assert torch.utils.swap_tensors is before
