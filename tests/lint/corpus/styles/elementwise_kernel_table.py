# kernel_type: elementwise
# complexity: low
# outcome: works
"""An activation chosen by name from a table of kernels; the block size is bound with functools.partial."""
from functools import partial

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _relu6(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.minimum(tl.maximum(v, 0.0), 6.0), mask=i < n)


@triton.jit
def _elu(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.where(v > 0, v, tl.exp(v) - 1.0), mask=i < n)


@triton.jit
def _softplus(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.maximum(v, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(v))), mask=i < n)


KERNELS = {"relu6": _relu6, "elu": _elu, "softplus": _softplus}


def apply(kernel, x, block):
    y = torch.empty_like(x)
    n = x.numel()
    kernel[(triton.cdiv(n, block),)](x, y, n, B=block)
    return y


class ModelNew(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.steps = [partial(apply, KERNELS[name], block=512) for name in names]

    def forward(self, x):
        x = x.contiguous()
        for step in self.steps:
            x = step(x)
        return x


def get_init_inputs():
    return [["elu", "softplus", "relu6"]]


def get_inputs():
    return [torch.randn(60, 41)]
