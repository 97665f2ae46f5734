# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution
"""Channels-last 3x3 convolution: taps unrolled by static_range, a dot over channels for each, persistent over tiles."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv3x3_nhwc(
    src, filt, bias, dst, N, H, W, CI, CO, tiles_p, tiles_c,
    P: tl.constexpr, BC: tl.constexpr, BK: tl.constexpr, WORKERS: tl.constexpr,
):
    for tile in range(tl.program_id(0), tiles_p * tiles_c, WORKERS):
        p = (tile // tiles_c) * P + tl.arange(0, P)
        c = (tile % tiles_c) * BC + tl.arange(0, BC)
        row = (p // W) % H
        col = p % W
        acc = tl.zeros((P, BC), dtype=tl.float32)
        for dy in tl.static_range(3):
            for dx in tl.static_range(3):
                y, x = row + dy - 1, col + dx - 1
                ok = (p < N * H * W) & (y >= 0) & (y < H) & (x >= 0) & (x < W)
                at = (p + (dy - 1) * W + dx - 1) * CI
                for k0 in range(0, CI, BK):
                    k = k0 + tl.arange(0, BK)
                    a = tl.load(src + at[:, None] + k[None, :], mask=ok[:, None] & (k[None, :] < CI), other=0.0)
                    w = tl.load(
                        filt + ((dy * 3 + dx) * CI + k)[:, None] * CO + c[None, :],
                        mask=(k[:, None] < CI) & (c[None, :] < CO), other=0.0,
                    )
                    acc = tl.dot(a, w, acc, input_precision="ieee")
        acc += tl.load(bias + c, mask=c < CO, other=0.0)[None, :]
        keep = (p[:, None] < N * H * W) & (c[None, :] < CO)
        tl.store(dst + p[:, None] * CO + c[None, :], tl.maximum(acc, 0.0), mask=keep)


class ModelNew(nn.Module):
    def __init__(self, ci, co):
        super().__init__()
        self.conv = nn.Conv2d(ci, co, 3, padding=1)

    def forward(self, x):
        n, ci, h, w = x.shape
        co = self.conv.out_channels
        src = x.permute(0, 2, 3, 1).contiguous()
        filt = self.conv.weight.permute(2, 3, 1, 0).contiguous()
        dst = torch.empty(n, h, w, co, device=x.device)
        tiles_p, tiles_c = triton.cdiv(n * h * w, 64), triton.cdiv(co, 32)
        workers = min(132, tiles_p * tiles_c)
        conv3x3_nhwc[(workers,)](
            src, filt, self.conv.bias, dst, n, h, w, ci, co, tiles_p, tiles_c, P=64, BC=32, BK=16, WORKERS=workers
        )
        return dst.permute(0, 3, 1, 2)


def get_init_inputs():
    return [8, 24]


def get_inputs():
    return [torch.randn(2, 8, 12, 13)]
