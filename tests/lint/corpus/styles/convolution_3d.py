# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution
"""3-D convolution: taps in one flat loop, helper for the address, dot over input channels."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def inside(i, n):
    return (i >= 0) & (i < n)


@triton.jit
def conv3d(
    X, F, Y, CI, D, H, W, CO, OD, OH, OW, taps, KH, KW,
    BP: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr,
):
    pos = tl.program_id(0) * BP + tl.arange(0, BP)
    out = tl.program_id(1) * BO + tl.arange(0, BO)
    batch = tl.program_id(2)
    plane = OD * OH * OW
    z = pos // (OH * OW)
    y = pos // OW % OH
    x = pos % OW
    ci = tl.arange(0, BI)
    acc = tl.zeros((BO, BP), tl.float32)
    for tap in range(taps):
        iz = z + tap // (KH * KW)
        iy = y + tap // KW % KH
        ix = x + tap % KW
        ok = (pos < plane) & inside(iz, D) & inside(iy, H) & inside(ix, W)
        at = (iz * H + iy) * W + ix
        for base in range(0, CI, BI):
            c = base + ci
            f = tl.load(F + (out[:, None] * CI + c[None, :]) * taps + tap, mask=(out[:, None] < CO) & (c[None, :] < CI), other=0.0)
            v = tl.load(X + (batch * CI + c[:, None]) * D * H * W + at[None, :], mask=(c[:, None] < CI) & ok[None, :], other=0.0)
            acc = tl.dot(f, v, acc, input_precision="ieee")
    tl.store(Y + (batch * CO + out[:, None]) * plane + pos[None, :], acc, mask=(out[:, None] < CO) & (pos[None, :] < plane))


class ModelNew(nn.Module):
    def __init__(self, ci, co, k):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(co, ci, k, k, k))

    def forward(self, x):
        b, ci, d, h, w = x.shape
        co, _, kd, kh, kw = self.weight.shape
        od, oh, ow = d - kd + 1, h - kh + 1, w - kw + 1
        y = torch.empty(b, co, od, oh, ow, device=x.device)
        conv3d[(triton.cdiv(od * oh * ow, 64), triton.cdiv(co, 16), b)](
            x.contiguous(), self.weight, y, ci, d, h, w, co, od, oh, ow, kd * kh * kw, kh, kw, BP=64, BO=16, BI=16
        )
        return y


def get_init_inputs():
    return [3, 10, 3]


def get_inputs():
    return [torch.randn(1, 3, 8, 9, 10)]
