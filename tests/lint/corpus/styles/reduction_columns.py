# kernel_type: reduction
# complexity: medium
# outcome: works
"""Mean over axis 1 of [B, R, C]: a tile of columns per program, rows in the loop."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_axis1(x_ptr, o_ptr, R, C, BR: tl.constexpr, BC: tl.constexpr):
    b = tl.program_id(1)
    cols = tl.program_id(0) * BC + tl.arange(0, BC)
    rows = tl.arange(0, BR)
    acc = tl.zeros((BR, BC), dtype=tl.float32)
    base = x_ptr + b * R * C
    for r0 in range(0, R, BR):
        r = r0 + rows
        m = (r[:, None] < R) & (cols[None, :] < C)
        acc += tl.load(base + r[:, None] * C + cols[None, :], mask=m, other=0.0)
    tl.store(o_ptr + b * C + cols, tl.sum(acc, axis=0) / R, mask=cols < C)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        assert dim == 1
        self.dim = dim

    def forward(self, x):
        x = x.contiguous()
        B, R, C = x.shape
        out = torch.empty((B, C), device=x.device, dtype=x.dtype)
        mean_axis1[(triton.cdiv(C, 64), B)](x, out, R, C, BR=16, BC=64)
        return out


def get_init_inputs():
    return [1]


def get_inputs():
    return [torch.randn(3, 50, 70)]
