"""Each program holds one row in registers: it takes the mean, then the variance, then writes the result."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    mask = col < cols
    x = tl.load(x_ptr + row * cols + col, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / cols
    centered = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centered * centered, axis=0) / cols
    scale = 1.0 / tl.sqrt(variance + eps)
    weight = tl.load(weight_ptr + col, mask=mask, other=0.0)
    bias = tl.load(bias_ptr + col, mask=mask, other=0.0)
    tl.store(y_ptr + row * cols + col, centered * scale * weight + bias, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        block = triton.next_power_of_2(cols)
        layer_norm_kernel[(rows,)](
            x, self.norm.weight, self.norm.bias, y, cols, self.norm.eps, BLOCK=block, num_warps=8
        )
        return y
