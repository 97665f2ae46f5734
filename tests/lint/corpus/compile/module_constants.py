# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Constants of the module, read inside kernels."""
from math import pi

import torch
import torch.nn as nn
import triton
import triton.language as tl

BLOCK = 1024
LOG2E = 1.4426950408889634
ACTIVATION = "silu"
SIGMA = 2.0 * pi


@triton.jit
def activation_kernel(x_ptr, y_ptr, n_elements):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  #! global-in-kernel, global-in-kernel
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    if ACTIVATION == "silu":  #! global-in-kernel
        x = x / (1.0 + tl.exp2(-x * LOG2E))  #! global-in-kernel
    x = x + tl.sin(x * SIGMA) * pi  #! global-in-kernel, global-in-kernel
    tl.store(y_ptr + offs, x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        activation_kernel[(triton.cdiv(n, BLOCK),)](x, y, n)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(99, 33)]
