# kernel_type: convolution
# complexity: medium
# outcome: works
"""Convolution and max pooling in one kernel: positions are lanes of a tile that is folded before it is stored."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_then_pool(x, w, y, H, W, PH, PW, CO, CI: tl.constexpr, K: tl.constexpr, POOL: tl.constexpr,
                   TH: tl.constexpr, TW: tl.constexpr, BO: tl.constexpr):
    img = tl.program_id(0)
    co = tl.program_id(1) * BO + tl.arange(0, BO)
    across = tl.cdiv(PW, TW)
    ty = tl.program_id(2) // across
    tx = tl.program_id(2) % across
    WIDE: tl.constexpr = TW * POOL
    spot = tl.arange(0, TH * TW * POOL * POOL)
    oy = ty * TH * POOL + spot // WIDE
    ox = tx * WIDE + spot % WIDE
    known = (oy < H - K + 1) & (ox < W - K + 1)
    acc = tl.zeros((BO, TH * TW * POOL * POOL), dtype=tl.float32)
    for c in tl.static_range(CI):  #! direct-convolution
        for r in tl.static_range(K):
            for s in tl.static_range(K):
                iy = oy + r
                ix = ox + s
                pixel = tl.load(x + img * CI * H * W + c * H * W + iy * W + ix, mask=known, other=0.0)
                weight = tl.load(w + co * CI * K * K + c * K * K + r * K + s, mask=co < CO, other=0.0)
                acc += weight[:, None] * pixel[None, :]
    acc = tl.where(known[None, :], acc, -float("inf"))
    best = tl.max(tl.max(tl.reshape(acc, (BO, TH, POOL, TW, POOL)), axis=4), axis=2)
    py = ty * TH + tl.arange(0, TH)
    px = tx * TW + tl.arange(0, TW)
    where = (img * CO + co)[:, None, None] * PH * PW + py[None, :, None] * PW + px[None, None, :]
    inside = (co < CO)[:, None, None] & (py < PH)[None, :, None] & (px < PW)[None, None, :]
    tl.store(y + where, best, mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(10, 2, 3, 3))

    def forward(self, x):
        x = x.contiguous()
        n, ci, h, w = x.shape
        co, _, k, _ = self.weight.shape
        ph, pw = (h - k + 1) // 2, (w - k + 1) // 2
        y = torch.empty(n, co, ph, pw, device=x.device)
        grid = (n, triton.cdiv(co, 16), triton.cdiv(ph, 2) * triton.cdiv(pw, 4))
        conv_then_pool[grid](x, self.weight, y, h, w, ph, pw, co, CI=ci, K=k, POOL=2, TH=2, TW=4, BO=16)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 2, 12, 14)]
