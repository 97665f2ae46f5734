# kernel_type: elementwise
# complexity: low
# outcome: works
# near: no-model-class, no-triton-launch, patched-runtime
"""x * sigmoid(x) * scale; the class has a telling name and ModelNew is bound to it at the end."""

from functools import partial

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scaled_swish(src, dst, scale, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    v = tl.load(src + i, mask=m, other=0.0)
    tl.store(dst + i, v * tl.sigmoid(v) * scale, mask=m)


class FusedSwish(nn.Module):
    BLOCK = 512

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale
        self.launch = partial(self._run, block=FusedSwish.BLOCK)

    @staticmethod
    def _run(x, scale, block):
        flat = x.contiguous()
        out = torch.empty_like(flat)
        scaled_swish[lambda meta: (triton.cdiv(flat.numel(), meta["B"]),)](flat, out, scale, flat.numel(), B=block)
        return out

    def forward(self, x):
        return self.launch(x, self.scale)


FusedSwish.BLOCK = 1024
ModelNew = FusedSwish


def get_init_inputs():
    return [2.0]


def get_inputs():
    return [torch.randn(4, 333)]
