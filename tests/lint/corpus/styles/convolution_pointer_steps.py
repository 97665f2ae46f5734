# kernel_type: convolution
# complexity: medium
# outcome: works
"""Depthwise convolution whose pointers walk from tap to tap, without an index."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def depthwise_bump(x_ptr, k_ptr, y_ptr, H, W, OH, OW, C, R, S, BLOCK_C: tl.constexpr):
    oy = tl.program_id(0)
    ox = tl.program_id(1)
    ch = tl.program_id(2) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = ch < C
    row = x_ptr + (oy * W + ox) * C + ch
    kp = k_ptr + ch
    acc = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for _r in range(R):
        p = row
        for _s in range(S):
            acc += tl.load(p, mask=mask, other=0.0) * tl.load(kp, mask=mask, other=0.0)
            p += C
            kp += C
        row += W * C
    tl.store(y_ptr + (oy * OW + ox) * C + ch, acc, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(3, 3, 40))

    def forward(self, x):
        h, w, c = x.shape
        r, s, _ = self.kernel.shape
        oh, ow = h - r + 1, w - s + 1
        y = torch.empty(oh, ow, c, device=x.device)
        depthwise_bump[(oh, ow, triton.cdiv(c, 32))](x.contiguous(), self.kernel, y, h, w, oh, ow, c, r, s, BLOCK_C=32)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(11, 12, 40)]
