# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Block sizes that look round in decimal: one from the launch, one from the only default."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, factor, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)  #! arange-not-power-of-two
    mask = offs < n
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=mask) * factor, mask=mask)


@triton.jit
def shift_kernel(x_ptr, y_ptr, delta, n, TILE: tl.constexpr = 96):
    offs = tl.program_id(0) * TILE + tl.arange(0, TILE)  #! arange-not-power-of-two
    mask = offs < n
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=mask) + delta, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, factor, delta):
        super().__init__()
        self.factor = factor
        self.delta = delta

    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        scaled = torch.empty_like(x)
        scale_kernel[(triton.cdiv(n, 1000),)](x, scaled, self.factor, n, BLOCK=1000)
        out = torch.empty_like(x)
        shift_kernel[(triton.cdiv(n, 96),)](scaled, out, self.delta, n)
        return out


def get_init_inputs():
    return [1.5, 0.25]


def get_inputs():
    return [torch.randn(7, 500)]
