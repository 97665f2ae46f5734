# kernel_type: convolution
# complexity: medium
# outcome: works
# near: missing-mask, missing-other, low-precision-accumulator
"""3x3 convolution, padding 1, as an implicit matrix product over C * 9."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv3x3(x, w, y, N, C, H, W, O, BP: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    image = p // (H * W)
    oh = (p // W) % H
    ow = p % W
    acc = tl.zeros((BP, BO), dtype=tl.float32)
    for k0 in range(0, C * 9, BK):
        k = k0 + tl.arange(0, BK)
        c = k // 9
        kh = (k % 9) // 3
        kw = k % 3
        ih = oh[:, None] + kh[None, :] - 1
        iw = ow[:, None] + kw[None, :] - 1
        ok = (p < N * H * W)[:, None] & (k < C * 9)[None, :] & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
        patch = tl.load(x + ((image[:, None] * C + c[None, :]) * H + ih) * W + iw, mask=ok, other=0.0)
        taps = tl.load(w + o[None, :] * (C * 9) + k[:, None],
                       mask=(o < O)[None, :] & (k < C * 9)[:, None], other=0.0)
        acc += tl.dot(patch, taps)  #! tf32-implicit
    out = y + (image[:, None] * O + o[None, :]) * (H * W) + (oh * W + ow)[:, None]
    tl.store(out, acc, mask=(p < N * H * W)[:, None] & (o < O)[None, :])


class ModelNew(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        O = self.conv.out_channels
        y = torch.empty((N, O, H, W), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(N * H * W, 64), triton.cdiv(O, 32))
        conv3x3[grid](x, self.conv.weight, y, N, C, H, W, O, BP=64, BO=32, BK=32)
        return y


def get_init_inputs():
    return [8, 24]


def get_inputs():
    return [torch.randn(2, 8, 12, 12)]
