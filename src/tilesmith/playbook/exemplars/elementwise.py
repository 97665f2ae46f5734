# mypy: ignore-errors
"""Bias, SiLU, scale and residual in one pass.

    y[i] = residual[i] + scale * silu(x[i] + bias[i % C]),  silu(z) = z * sigmoid(z)

x, residual and y have shape (..., C), bias (C,). One flat grid: three reads and one write per element
where eager, operator by operator, does seven reads and four writes.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def bias_silu_residual_kernel(
    # pointers
    x_ptr,
    bias_ptr,
    residual_ptr,
    y_ptr,
    # sizes
    n_elements,
    C,
    # meta-parameters
    scale,
    BLOCK: tl.constexpr,
):
    # 64-bit offsets: a tensor of more than 2**31 elements must not wrap around.
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    # The bias is small and stays in cache, so it is gathered and never expanded to the shape of x.
    bias = tl.load(bias_ptr + offs % C, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    z = x + bias
    y = residual + scale * (z * tl.sigmoid(z))
    tl.store(y_ptr + offs, y.to(y_ptr.dtype.element_ty), mask=mask)


def bias_silu_residual(x, bias, residual, scale):
    x, residual = x.contiguous(), residual.contiguous()  # the kernel walks through memory in one line
    y = torch.empty_like(x)
    n_elements = x.numel()
    # 1024 elements by 4 warps: 8 per thread, two 128-bit loads of float32 each.
    grid = (triton.cdiv(n_elements, 1024),)
    bias_silu_residual_kernel[grid](x, bias, residual, y, n_elements, bias.shape[0], scale, BLOCK=1024, num_warps=4)
    return y


class ModelNew(nn.Module):
    def __init__(self, channels, scale):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))  # the same name and shape as in the reference
        self.scale = scale

    def forward(self, x, residual):
        return bias_silu_residual(x, self.bias, residual, self.scale)
