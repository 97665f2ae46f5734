# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-mask, stride-reuse
"""Per-channel scale and shift of an NCHW tensor; the kernel counts channels from sizes, not strides."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def affine(x, scale, shift, y, C, HW, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < total
    c = (i // HW) % C
    s = tl.load(scale + c)
    t = tl.load(shift + c)
    v = tl.load(x + i, mask=inside)
    tl.store(y + i, v * s + t, mask=inside)


def run(x, scale, shift):
    n, c, h, w = x.shape
    y = torch.empty((n, c, h, w), device=x.device, dtype=x.dtype)
    affine[(triton.cdiv(x.numel(), 1024),)](
        x,  #! contiguity-assumed
        scale, shift, y, c, h * w, x.numel(), BLOCK=1024,
    )
    return y


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(channels))
        self.shift = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        return run(x, self.scale, self.shift)


def get_init_inputs():
    return [6]


def get_inputs():
    return [torch.randn(2, 6, 9, 9)]
