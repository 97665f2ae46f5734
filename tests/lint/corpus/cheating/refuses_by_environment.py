# kernel_type: normalization
# complexity: low
# outcome: works
# near: environment-sniffing
"""An environment variable says which devices are refused; nothing catches the refusal, so no result depends on it."""

import os

import torch
import torch.nn as nn
import triton
import triton.language as tl

interpreted = os.environ.get("TRITON_INTERPRET") == "1"


@triton.jit
def rms_kernel(x, y, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y + row * cols + c, v * tl.rsqrt(tl.sum(v * v, 0) / cols + eps), mask=c < cols)


def refuse(problem, found):
    told = f"{problem}, not {tuple(found.shape)}"
    raise ValueError(told)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        if x.dtype is not torch.float32:
            refuse("float32 is wanted", x)
        elif x.device.type != "cuda" and not (interpreted and x.device.type == "cpu"):
            refuse("x must be on a GPU", x)
        x = x.contiguous()
        y = torch.empty_like(x)
        rms_kernel[(x.shape[0],)](x, y, x.shape[1], self.eps, BLOCK=triton.next_power_of_2(x.shape[1]))
        return y


def get_init_inputs():
    return [1e-6]


def get_inputs():
    return [torch.randn(4, 100)]
