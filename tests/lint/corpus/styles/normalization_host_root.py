# kernel_type: normalization
# complexity: low
# outcome: works
"""Rows divided by their length; the root is taken between two kernels."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def square_sums(x, out, n, B: tl.constexpr):
    o = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * n + o, mask=o < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(v * v, 0))


@triton.jit
def scale_rows(x, s, y, n, B: tl.constexpr):
    o = tl.arange(0, B)
    at = tl.program_id(0) * n + o
    tl.store(y + at, tl.load(x + at, mask=o < n) * tl.load(s + tl.program_id(0)), mask=o < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, n = x.shape
        sums = torch.empty(rows, device=x.device)
        y = torch.empty_like(x)
        b = triton.next_power_of_2(n)
        square_sums[(rows,)](x, sums, n, B=b)
        inverse = sums.clamp_min(1e-12).rsqrt()
        scale_rows[(rows,)](x, inverse, y, n, B=b)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(7, 90)]
