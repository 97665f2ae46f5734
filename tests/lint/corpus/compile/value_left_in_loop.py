# kernel_type: reduction
# complexity: medium
# outcome: fails
"""Names first bound inside a device loop or in one arm of a branch are gone after it."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def last_tile_mean(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        tile = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
        total += tl.sum(tile, axis=0)
    spread = tl.max(tile, axis=0)  #! undefined-name
    if total > 0.0:
        sign = 1.0
    tl.store(out_ptr + row, total / n_cols + sign * spread)  #! undefined-name


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty(rows, device=x.device, dtype=x.dtype)
        last_tile_mean[(rows,)](x, out, cols, BLOCK=128)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 500)]
