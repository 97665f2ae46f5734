# kernel_type: elementwise
# complexity: low
# outcome: works
# near: int32-overflow, missing-mask, grid-coverage
"""Nearest upsampling by two; the plane's offset is formed in 64 bits, what lies inside a plane fits into 32."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def upsample2(x, y, H, W, BLOCK: tl.constexpr):
    plane = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ow = 2 * W
    r = i // ow
    c = i % ow
    inside = i < 4 * H * W
    v = tl.load(x + plane * (H * W) + (r // 2) * W + c // 2, mask=inside)
    tl.store(y + plane * (4 * H * W) + i, v, mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        n, c, h, w = x.shape
        x = x.contiguous()
        y = torch.empty(n, c, 2 * h, 2 * w, device=x.device, dtype=x.dtype)
        upsample2[(triton.cdiv(4 * h * w, 256), n * c)](x, y, h, w, BLOCK=256)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 10, 13)]
