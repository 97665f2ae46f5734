# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Strides that the kernel no longer takes, a kernel called without a grid, a string that is no constexpr."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr = 512):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out_ptr + offs, tl.load(a_ptr + offs, mask=mask) + tl.load(b_ptr + offs, mask=mask), mask=mask)


@triton.jit
def act_kernel(x_ptr, y_ptr, n, activation, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    if activation == "relu":
        x = tl.maximum(x, 0.0)
    tl.store(y_ptr + offs, x, mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        out, act = torch.empty_like(a), torch.empty_like(a)
        n = a.numel()
        grid = (triton.cdiv(n, 512),)
        add_kernel[grid](a, b, out, n, 512, a.stride(0))  #! launch-arguments
        act_kernel[grid](out, act, n, "relu", BLOCK=512)  #! launch-arguments
        add_kernel(act, b, out, n)  #! launch-arguments
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1000), torch.randn(1000)]
