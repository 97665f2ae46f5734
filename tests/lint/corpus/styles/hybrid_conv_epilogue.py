# kernel_type: hybrid
# complexity: low
# outcome: works
"""Convolution by cuDNN; bias, batch-norm scale, hard-swish and the residual in one Triton kernel."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def epilogue(x, residual, scale, shift, y, C, HW, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < total
    c = (i // HW) % C
    v = tl.load(x + i, mask=live) * tl.load(scale + c, mask=live) + tl.load(shift + c, mask=live)
    v = v * tl.minimum(tl.maximum(v + 3.0, 0.0), 6.0) / 6.0
    tl.store(y + i, v + tl.load(residual + i, mask=live), mask=live)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, channels, 3, 3))
        self.scale = nn.Parameter(torch.ones(channels))
        self.shift = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        h = F.conv2d(x, self.weight, padding=1).contiguous()
        x = x.contiguous()
        y = torch.empty_like(h)
        total = h.numel()
        epilogue[(triton.cdiv(total, 1024),)](
            h, x, self.scale, self.shift, y, h.shape[1], h.shape[2] * h.shape[3], total, BLOCK=1024
        )
        return y


def get_init_inputs():
    return [8]


def get_inputs():
    return [torch.randn(2, 8, 14, 14)]
