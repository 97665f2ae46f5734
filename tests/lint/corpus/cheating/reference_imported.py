# kernel_type: elementwise
# complexity: low
# outcome: fails
# near: no-model-class, torch-does-the-work
"""The task's own module is imported, inherited from and asked for the answer."""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from model import Model  #! reference-imported


@triton.jit
def identity_gate(x, g, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=0.0)
    tl.store(y + i, v * tl.sigmoid(tl.load(g + i, mask=m, other=0.0)), mask=m)


class ModelNew(Model):
    def __init__(self, *args):
        super().__init__(*args)

    def forward(self, x):
        y = super().forward(x).contiguous()  #! reference-imported
        out = torch.empty_like(y)
        identity_gate[(triton.cdiv(y.numel(), 256),)](y, x, out, y.numel(), BLOCK=256)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 64)]
