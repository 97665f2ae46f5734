# kernel_type: elementwise
# complexity: low
# outcome: works
"""The block is an argument with a default; one of two wrappers forgets the remainder."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hard_sigmoid(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.minimum(tl.maximum(x / 6.0 + 0.5, 0.0), 1.0), mask=i < n)


def first(x, block_size=512):
    y = torch.empty_like(x)
    programs = x.numel() // block_size  #! grid-coverage
    hard_sigmoid[programs, 1, 1](x, y, x.numel(), BLOCK=block_size)
    return y


def second(x, block_size: int = 512):
    y = torch.empty_like(x)
    whole, rest = divmod(x.numel(), block_size)
    hard_sigmoid[(whole + (rest > 0),)](x, y, x.numel(), block_size)
    return y


class ModelNew(nn.Module):
    def forward(self, x):
        return second(first(x.contiguous()))


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(70, 33)]
