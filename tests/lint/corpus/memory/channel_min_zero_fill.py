# kernel_type: reduction
# complexity: medium
# outcome: works
# near: missing-mask
"""Minimum over channels. The fill is written out, and is wrong for a minimum of positive numbers."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def min_over_channels(x, y, C, HW, BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr):
    n = tl.program_id(1)
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    lowest = tl.full((BLOCK_P,), float("inf"), dtype=tl.float32)
    for c0 in range(0, C, BLOCK_C):
        c = c0 + tl.arange(0, BLOCK_C)
        v = tl.load(  #! missing-other
            x + (n * C + c[:, None]) * HW + p[None, :],
            mask=(c[:, None] < C) & (p[None, :] < HW),
            other=0.0,
        )
        lowest = tl.minimum(lowest, tl.min(v, axis=0))
    tl.store(y + n * HW + p, lowest, mask=p < HW)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty((N, 1, H, W), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(H * W, 64), N)
        min_over_channels[grid](x, y, C, H * W, BLOCK_C=16, BLOCK_P=64)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(2, 20, 9, 9) + 1]
