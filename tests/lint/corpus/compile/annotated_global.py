# kernel_type: elementwise
# complexity: low
# outcome: fails
"""`X: tl.constexpr = 3` on module level: releases up to 3.2 took it, later ones do not."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

SLOPE: tl.constexpr = 0.01


@triton.jit
def leaky(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, tl.where(x > 0, x, x * SLOPE), mask=offs < n)  #! global-in-kernel


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        leaky[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(300)]
