"""Operators that several tests start from."""

from __future__ import annotations

from tilesmith.operators.records import Operator, OperatorParameter

BIAS_ADD = Operator(
    name="bias_add",
    parameters=(OperatorParameter("x", shape=("M", "N")), OperatorParameter("bias", shape=("N",))),
    summary="x plus a bias for each column",
    accuracy=({"M": 1, "N": 1}, {"M": 37, "N": 53}),
    performance=({"M": 4096, "N": 4096},),
)
EVERY_FIELD = Operator(
    name="pick",
    parameters=(
        OperatorParameter("x", shape=("...", "C", 4)),
        OperatorParameter("target", shape=("...",), dtype="int64", below="C"),
        OperatorParameter("count", "int", "scalar", value=(3, 5)),
        OperatorParameter("alpha", "float", "scalar", default=1.5),
        OperatorParameter("flag", "bool", "scalar", default=False),
        OperatorParameter("reduction", "str", "scalar", default='me"an'),
    ),
    summary='said "so"',
    returns="tuple[torch.Tensor, torch.Tensor]",
    dtypes=("float32",),
    arithmetic="reduction",
    target=1.25,
    history="tried.md",
    accuracy=({"...": (), "C": 5}, {"...": (2, 3), "C": 7}),
    performance=({"...": (4096,), "C": 1024},),
    baseline="0" * 64,
)
WRITTEN = '''"""add in one kernel.

    y = x + bias * 0.7502

Shapes in the task: x (4096, 4096) float16; bias (4096,) float16; y (4096, 4096)
float16.
One program per 1024 elements of the flat output, 4 warps: every input is read once.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

BLOCK = 1024
ROWS = 1
NUM_WARPS = 4


@triton.jit
def bias_add_kernel(x_ptr, bias_ptr, y_ptr, BLOCK: tl.constexpr):
    bias_add = tl.load(x_ptr)  # a variable of the same name
    tl.store(y_ptr, bias_add)


def bias_add(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    assert x.dim() == 2, "written for x.dim() == 2"
    assert bias.shape[-1] == x.shape[-1], "written for bias.shape[-1] == x.shape[-1]"
    assert x.shape[-1] == 64, "written for x.shape[-1] == 64"
    bias_add_kernel[(1,)](x, bias, x, BLOCK=BLOCK, num_warps=NUM_WARPS)
    return x


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return bias_add(x, bias)
'''
"""What the forge writes for BIAS_ADD."""
