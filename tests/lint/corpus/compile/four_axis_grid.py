# kernel_type: elementwise
# complexity: low
# outcome: fails
"""NCHW bias with one grid axis per dimension."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_bias_nchw(x_ptr, b_ptr, y_ptr, C, H, W, BLOCK_W: tl.constexpr):
    n = tl.program_id(0)
    c = tl.program_id(1)
    h = tl.program_id(2)
    w_block = tl.program_id(3)  #! grid-axis
    w = w_block * BLOCK_W + tl.arange(0, BLOCK_W)
    base = ((n * C + c) * H + h) * W
    x = tl.load(x_ptr + base + w, mask=w < W)
    tl.store(y_ptr + base + w, x + tl.load(b_ptr + c), mask=w < W)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        grid = (N, C, H, triton.cdiv(W, 64))  #! grid-axis
        add_bias_nchw[grid](x, self.bias, y, C, H, W, BLOCK_W=64)
        return y


def get_init_inputs():
    return [3]


def get_inputs():
    return [torch.randn(2, 3, 5, 70)]
