# kernel_type: elementwise
# complexity: low
# outcome: works
# near: grid-coverage, missing-mask
"""Four ways to divide without a remainder, each told to the reader."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp_scaled(x_ptr, y_ptr, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.exp2(tl.load(x_ptr + at) * scale))


@triton.jit
def square_masked(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x, mask=at < n)


def exp_asserted(x):
    n = x.numel()
    assert n % 512 == 0, "pad the input to a multiple of 512"
    y = torch.empty_like(x)
    exp_scaled[(n // 512,)](x, y, 1.4426950408889634, BLOCK=512)
    return y


def exp_chosen(x):
    n = x.numel()
    y = torch.empty_like(x)
    block = 1024
    while n % block:
        block //= 2
    exp_scaled[(n // block,)](x, y, 0.5, BLOCK=block)
    return y


def square_rounded_up(x):
    n = x.numel()
    y = torch.empty_like(x)
    size = 256
    square_masked[(-(-n // size),)](x, y, n, BLOCK=size)
    z = torch.empty_like(x)
    blocks = (n + size - 1) // size
    square_masked[blocks, 1, 1](y, z, n, BLOCK=size)
    w = torch.empty_like(x)
    square_masked[(n // size + (n % size > 0),)](z, w, n, BLOCK=size)
    return w


class ModelNew(nn.Module):
    def forward(self, x):
        return square_rounded_up(exp_chosen(exp_asserted(x.contiguous())))


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(8, 1024)]
