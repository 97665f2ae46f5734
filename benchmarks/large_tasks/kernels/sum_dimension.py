"""Each program takes some columns of one batch entry and goes down all rows in tiles."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_rows_kernel(x_ptr, y_ptr, rows, cols, blocks, ROW_BLOCK: tl.constexpr, COL_BLOCK: tl.constexpr):
    program = tl.program_id(0)
    entry = (program // blocks).to(tl.int64)
    col = (program % blocks) * COL_BLOCK + tl.arange(0, COL_BLOCK)
    row = tl.arange(0, ROW_BLOCK)
    tile_ptr = x_ptr + entry * rows * cols + row[:, None].to(tl.int64) * cols + col[None, :]
    total = tl.zeros((ROW_BLOCK, COL_BLOCK), tl.float32)
    for start in range(0, rows, ROW_BLOCK):
        mask = (start + row < rows)[:, None] & (col < cols)[None, :]
        total += tl.load(tile_ptr, mask=mask, other=0.0)
        tile_ptr += ROW_BLOCK * cols
    tl.store(y_ptr + entry * cols + col, tl.sum(total, axis=0), mask=col < cols)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        assert dim == 1

    def forward(self, x):
        x = x.contiguous()
        batch, rows, cols = x.shape
        y = torch.empty((batch, 1, cols), device=x.device, dtype=x.dtype)
        blocks = triton.cdiv(cols, 128)
        sum_rows_kernel[(batch * blocks,)](x, y, rows, cols, blocks, ROW_BLOCK=32, COL_BLOCK=128, num_warps=4)
        return y
