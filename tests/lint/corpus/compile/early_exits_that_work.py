# kernel_type: reduction
# complexity: medium
# outcome: works
# near: break-in-kernel, return-in-loop, tensor-truth, arange-not-power-of-two
"""Searching with an early end, the way Triton takes it: in the test of a while, by masks, by returns before loops."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

ODD = 48


@triton.jit
def pick(value, MODE: tl.constexpr):
    if MODE == "square":
        return value * value
    elif MODE == "absolute":
        return tl.abs(value)
    return value


@triton.jit
def first_large(x_ptr, out_ptr, limit, n_rows, n_cols, step, MODE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row >= n_rows:
        return
    found = n_cols
    start = 0
    while (start < n_cols) & (found == n_cols):
        cols = start + tl.arange(0, BLOCK)
        inside = (cols < n_cols) & (cols - start < step)
        x = tl.load(x_ptr + row * n_cols + cols, mask=inside, other=0.0)
        hit = tl.where((pick(x, MODE) > limit) & inside, cols, n_cols)
        found = tl.minimum(found, tl.min(hit, axis=0))
        start += step
    quarter: tl.constexpr = BLOCK // 4
    for turn in range(0, 96, 48):
        if found == n_cols:
            found = tl.where(turn + quarter < 0, 0, found)
    tl.store(out_ptr + row, found)


class ModelNew(nn.Module):
    def __init__(self, limit):
        super().__init__()
        self.limit = limit

    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty(rows, device=x.device, dtype=torch.int32)
        for mode in ("absolute", "square"):
            if mode == "square":
                continue
            first_large[(rows,)](x, out, self.limit, rows, cols, ODD, MODE=mode, BLOCK=64)
            if cols:
                break
        return out


def get_init_inputs():
    return [1.5]


def get_inputs():
    return [torch.randn(7, 300)]
