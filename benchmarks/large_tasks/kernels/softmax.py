"""Each program takes one row: it finds largest number and sum in blocks, then reads again and divides."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * cols
    y_ptr += row * cols
    lane = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), -3.0e38, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(x_ptr + start + lane, mask=start + lane < cols, other=-float("inf"))
        larger = tl.maximum(largest, x)
        total = total * tl.exp(largest - larger) + tl.exp(x - larger)
        largest = larger
    row_largest = tl.max(largest, axis=0)
    row_total = tl.sum(total * tl.exp(largest - row_largest), axis=0)
    for start in range(0, cols, BLOCK):
        mask = start + lane < cols
        x = tl.load(x_ptr + start + lane, mask=mask, other=0.0)
        tl.store(y_ptr + start + lane, tl.exp(x - row_largest) / row_total, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        softmax_kernel[(rows,)](x, y, cols, BLOCK=4096, num_warps=8)
        return y
