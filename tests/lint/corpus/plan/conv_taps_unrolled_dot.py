# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution, no-tensor-core, scalar-vector-loop
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv3x3_nhwc(
    x_ptr, w_ptr, y_ptr, H, W, CI, CO, P,
    BP: tl.constexpr, BO: tl.constexpr, BC: tl.constexpr,
):
    """Nine shifted products, each a tl.dot over the channels. x is NHWC, w is [3, 3, CI, CO]."""
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    image, at = p // (H * W), p % (H * W)
    row, col = at // W, at % W
    acc = tl.zeros((BP, BO), dtype=tl.float32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            r, c = row + dy, col + dx
            here = (p < P) & (r >= 0) & (r < H) & (c >= 0) & (c < W)
            pixel = ((image * H + r) * W + c) * CI
            tap = w_ptr + ((dy + 1) * 3 + dx + 1) * CI * CO
            for c0 in range(0, CI, BC):
                ch = c0 + tl.arange(0, BC)
                x = tl.load(x_ptr + pixel[:, None] + ch[None, :], mask=here[:, None] & (ch < CI)[None, :], other=0.0)
                w = tl.load(tap + ch[:, None] * CO + o[None, :],
                            mask=(ch < CI)[:, None] & (o < CO)[None, :], other=0.0)
                acc += tl.dot(x, w, input_precision="ieee")
    tl.store(y_ptr + p[:, None] * CO + o[None, :], acc, mask=(p < P)[:, None] & (o < CO)[None, :])


class ModelNew(nn.Module):
    def __init__(self, ci, co):
        super().__init__()
        self.conv = nn.Conv2d(ci, co, 3, padding=1, bias=False)

    def forward(self, x):
        n, ci, h, w = x.shape
        co = self.conv.out_channels
        channels_last = x.permute(0, 2, 3, 1).contiguous()
        weight = self.conv.weight.permute(2, 3, 1, 0).contiguous()
        y = torch.empty(n, h, w, co, device=x.device, dtype=x.dtype)
        conv3x3_nhwc[(triton.cdiv(n * h * w, 64), triton.cdiv(co, 32))](
            channels_last, weight, y, h, w, ci, co, n * h * w, BP=64, BO=32, BC=16
        )
        return y.permute(0, 3, 1, 2)


def get_init_inputs():
    return [8, 24]


def get_inputs():
    return [torch.randn(2, 8, 10, 10)]
