# kernel_type: reduction
# complexity: medium
# outcome: works
# near: tensor-truth, return-in-loop, break-in-kernel, undefined-name
"""Branches, loops and returns Triton does take: on single values, on constants, in unrolled loops, after loops."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def newton_steps(value, STEPS: tl.constexpr):
    for step in tl.static_range(STEPS):
        if STEPS > 4:
            return value
        value = 0.5 * (value + 1.0 / value)
    return value


@triton.jit
def norm_kernel(x_ptr, out_ptr, n_rows, n_cols, floor, MEAN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row >= n_rows:
        return
    total = 0.0
    start = 0
    while start < n_cols:
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
        total += tl.sum(x * x, axis=0)
        start += BLOCK
    scale = 1.0 / n_cols if MEAN else 1.0
    total = total * scale
    if total < floor:
        result = total * 0.0
    else:
        result = tl.sqrt(total)
    one = tl.load(x_ptr + tl.arange(0, 1))
    result = result + tl.sum(one, axis=0) * 0.0
    result = newton_steps(result + 1.0, 3) if MEAN else result
    result = result * float(BLOCK) / float(BLOCK)
    for attempt in range(2):
        if MEAN == 3:
            return
        result = max(result, floor)
    if total > 0.0 and total < 1e30:
        tl.store(out_ptr + row, result)


class ModelNew(nn.Module):
    def __init__(self, floor=1e-6):
        super().__init__()
        self.floor = floor

    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.zeros(rows, device=x.device, dtype=x.dtype)
        for attempt in range(3):
            if attempt:
                break
            norm_kernel[(rows,)](x, out, rows, cols, self.floor, MEAN=True, BLOCK=256)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 700)]
