"""Each program scans one row in blocks and carries the sum so far, in float64."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    before = tl.zeros((), tl.float64)
    for start in range(0, cols, BLOCK):
        mask = start + lane < cols
        x = tl.load(x_ptr + row * cols + start + lane, mask=mask, other=0.0).to(tl.float64)
        y = before + tl.cumsum(x, axis=0)
        tl.store(y_ptr + row * cols + start + lane, y.to(tl.float32), mask=mask)
        before += tl.sum(x, axis=0)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        assert dim == 1

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        cumsum_kernel[(rows,)](x, y, cols, BLOCK=2048, num_warps=4)
        return y
