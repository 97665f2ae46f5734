# kernel_type: gemm
# complexity: medium
# outcome: works
# near: direct-convolution, no-tensor-core
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def one_by_one(x, w, y, channels, filters, pixels, BLOCK: tl.constexpr):
    """A 1x1 convolution is a product [filters, channels] x [channels, pixels] for each image."""
    image = tl.program_id(2)
    f = tl.program_id(1)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = p < pixels
    s = tl.zeros((BLOCK,), dtype=tl.float32)
    x_row = x + image * channels * pixels + p
    w_at = w + f * channels
    for _ in range(channels):  #! scalar-vector-loop
        s += tl.load(w_at) * tl.load(x_row, mask=m, other=0.0)
        w_at += 1
        x_row += pixels
    tl.store(y + (image * filters + f) * pixels + p, s, mask=m)


class ModelNew(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.conv1d = nn.Conv2d(channels, filters, kernel_size=1, bias=False)

    def forward(self, x):
        n, c, h, w = x.shape
        filters = self.conv1d.out_channels
        y = torch.empty(n, filters, h, w, device=x.device, dtype=x.dtype)
        one_by_one[(triton.cdiv(h * w, 256), filters, n)](
            x.contiguous(), self.conv1d.weight, y, c, filters, h * w, BLOCK=256
        )
        return y


def get_init_inputs():
    return [6, 10]


def get_inputs():
    return [torch.randn(2, 6, 12, 12)]
