# kernel_type: reduction
# complexity: medium
# outcome: works
# near: missing-mask, missing-other
"""Spread (largest minus smallest) of each row: one program walks a row value by value."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def spread(x, out, n, stride):
    row = tl.program_id(0)
    low = float("inf")
    high = -float("inf")
    for i in range(n):
        v = tl.load(x + row * stride + i)
        low = tl.minimum(low, v)
        high = tl.maximum(high, v)
    tl.store(out + row, high - low)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        x = x.contiguous()
        out = torch.empty(rows, dtype=x.dtype, device=x.device)
        spread[(rows,)](x, out, n, x.stride(0))
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(9, 37)]
