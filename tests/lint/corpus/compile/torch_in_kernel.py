# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Softplus and a cast, by the functions one knows from the host."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def softplus_kernel(x_ptr, y_ptr, beta, n_elements, USE_TORCH: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(torch.float32)  #! python-in-kernel
    if USE_TORCH:
        y = F.softplus(x)  #! python-in-kernel
    else:
        y = torch.log(1.0 + torch.exp(beta * x)) / beta  #! python-in-kernel
    y = y * math.exp(x)  #! python-in-kernel
    tl.store(y_ptr + offsets, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, beta=1.0):
        super().__init__()
        self.beta = beta

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        softplus_kernel[(triton.cdiv(n, 1024),)](x, y, self.beta, n, USE_TORCH=False, BLOCK_SIZE=1024)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(40, 40)]
