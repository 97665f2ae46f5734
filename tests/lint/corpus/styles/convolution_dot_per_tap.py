# kernel_type: convolution
# complexity: medium
# outcome: works
"""Channels last: one dot per tap, the tap cut out of a single unrolled counter."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_tap_dots(x, w, y, H, W, OH, OW, CI: tl.constexpr, CO, R: tl.constexpr, S: tl.constexpr,
                  BP: tl.constexpr, BO: tl.constexpr):
    img = tl.program_id(2)
    pix = tl.program_id(0) * BP + tl.arange(0, BP)
    co = tl.program_id(1) * BO + tl.arange(0, BO)
    ci = tl.arange(0, CI)
    py = pix // OW
    px = pix - py * OW
    x_row = x + ((img * H + py) * W + px)[:, None] * CI + ci[None, :]
    acc = tl.zeros((BP, BO), dtype=tl.float32)
    for tap in tl.static_range(R * S):
        r = tap // S
        s = tap % S
        a = tl.load(x_row + (r * W + s) * CI, mask=(pix < OH * OW)[:, None], other=0.0)
        b = tl.load(w + (tap * CI + ci[:, None]) * CO + co[None, :], mask=(co < CO)[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    where = (img * OH * OW + pix)[:, None] * CO + co[None, :]
    tl.store(y + where, acc, mask=(pix < OH * OW)[:, None] & (co < CO)[None, :])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.Parameter(torch.randn(3, 3, 16, 24))

    def forward(self, x):
        x = x.contiguous()
        n, h, w, c = x.shape
        r, s, _, co = self.filters.shape
        oh, ow = h - r + 1, w - s + 1
        y = torch.empty(n, oh, ow, co, device=x.device)
        grid = (triton.cdiv(oh * ow, 32), triton.cdiv(co, 16), n)
        conv_tap_dots[grid](x, self.filters, y, h, w, oh, ow, c, co, r, s, BP=32, BO=16)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 9, 10, 16)]
