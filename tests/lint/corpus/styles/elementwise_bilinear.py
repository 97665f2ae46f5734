# kernel_type: elementwise
# complexity: low
# outcome: works
"""Four neighbours, each with a weight of its own: an interpolation, no pooling."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def upsample2(x, y, H, W, OH, OW, BLOCK: tl.constexpr):
    plane = tl.program_id(1)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = o < OH * OW
    fy = tl.maximum(((o // OW).to(tl.float32) + 0.5) * 0.5 - 0.5, 0.0)
    fx = tl.maximum(((o % OW).to(tl.float32) + 0.5) * 0.5 - 0.5, 0.0)
    y0 = fy.to(tl.int32)
    x0 = fx.to(tl.int32)
    y1 = tl.minimum(y0 + 1, H - 1)
    x1 = tl.minimum(x0 + 1, W - 1)
    ay = fy - y0
    ax = fx - x0
    base = x + plane * H * W
    p00 = tl.load(base + y0 * W + x0, mask=ok, other=0.0)
    p01 = tl.load(base + y0 * W + x1, mask=ok, other=0.0)
    p10 = tl.load(base + y1 * W + x0, mask=ok, other=0.0)
    p11 = tl.load(base + y1 * W + x1, mask=ok, other=0.0)
    top = p00 * (1 - ax) + p01 * ax
    low = p10 * (1 - ax) + p11 * ax
    tl.store(y + plane * OH * OW + o, top * (1 - ay) + low * ay, mask=ok)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty(n, c, 2 * h, 2 * w, device=x.device)
        upsample2[(triton.cdiv(4 * h * w, 256), n * c)](x, y, h, w, 2 * h, 2 * w, BLOCK=256)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 9, 10)]
