# kernel_type: hybrid
# complexity: low
# outcome: works
# near: no-triton-launch, grid-coverage
"""One number is read and written back, so that a profiler sees a Triton kernel."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def touch_first(ptr):
    tl.store(ptr, tl.load(ptr))


@triton.jit
def touch_masked(ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    head = i < 1
    tl.store(ptr + i, tl.load(ptr + i, mask=head, other=0.0), mask=head)


class ModelNew(nn.Module):
    def __init__(self, channels, out_channels):
        super().__init__()
        self.conv = nn.Conv1d(channels, out_channels, 5, padding=2)

    def forward(self, x):
        y = self.conv(x)  #! torch-does-the-work
        touch_first[(1,)](y)  #! decoy-kernel
        z = torch.tanh(y)
        touch_masked[(triton.cdiv(z.numel(), 128),)](z, z.numel(), BLOCK=128)  #! decoy-kernel
        return z


def get_init_inputs():
    return [4, 6]


def get_inputs():
    return [torch.randn(2, 4, 50)]
