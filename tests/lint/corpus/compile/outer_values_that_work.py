# kernel_type: elementwise
# complexity: low
# outcome: works
# near: global-in-kernel, undefined-name, python-in-kernel, launch-arguments
"""What a kernel may read from outside: constexpr objects, modules, types, functions, defaults, shadowed names."""
import math

import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice

LOG2E = tl.constexpr(1.4426950408889634)
TYPE = tl.float32
exp2 = tl.exp2
BLOCK = 512
SLOPE = 0.5
LIMIT = None
offs = 3


@triton.jit
def silu(v):
    return v / (1.0 + exp2(-v * LOG2E))


@triton.jit
def kernel(x_ptr, y_ptr, n, SLOPE, LIMIT: tl.constexpr, WIDTH: tl.constexpr = BLOCK):
    offs = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    v = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(TYPE)
    v = silu(v) * SLOPE + libdevice.tanh(v) * math.pi
    if LIMIT is not None:
        v = tl.minimum(v, LIMIT)
    tl.store(y_ptr + offs, v, mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        kernel[(triton.cdiv(n, BLOCK),)](x, y, n, SLOPE, LIMIT)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1000)]
