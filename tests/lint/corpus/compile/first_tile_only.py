# kernel_type: elementwise
# complexity: low
# outcome: fails
"""A grid-stride loop whose author returns after the ragged tile, plainly and from a while loop."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clamp_kernel(x_ptr, y_ptr, n, lo, hi, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    while start < n:
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n)
        tl.store(y_ptr + offs, tl.minimum(tl.maximum(x, lo), hi), mask=offs < n)
        if start + BLOCK >= n:
            return  #! return-in-loop
        start += tl.num_programs(0) * BLOCK


@triton.jit
def mark_kernel(flag_ptr, BLOCK: tl.constexpr):
    for i in range(BLOCK):
        tl.store(flag_ptr + i, 1)
        return  #! return-in-loop


class ModelNew(nn.Module):
    def __init__(self, lo, hi):
        super().__init__()
        self.lo, self.hi = lo, hi

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        flags = torch.zeros(16, device=x.device, dtype=torch.int32)
        mark_kernel[(1,)](flags, BLOCK=16)
        clamp_kernel[(4,)](x, y, x.numel(), self.lo, self.hi, BLOCK=128)
        return y, flags


def get_init_inputs():
    return [-1.0, 1.0]


def get_inputs():
    return [torch.randn(1000)]
