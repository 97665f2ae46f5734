# kernel_type: convolution
# complexity: medium
# outcome: works
"""Depthwise convolution; borders tested by chained comparisons and by `and`, which older releases refuse."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def depthwise_kernel(x_ptr, w_ptr, y_ptr, C, H, W, K: tl.constexpr, PAD: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    c = plane % C
    pos = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    oh = pos // W
    ow = pos % W
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for kh in range(K):
        for kw in range(K):
            ih = oh + kh - PAD
            iw = ow + kw - PAD
            rows = 0 <= ih < H  #! tensor-truth
            inside = rows & (iw >= 0) and (iw < W)  #! tensor-truth
            v = tl.load(x_ptr + plane * H * W + ih * W + iw, mask=inside, other=0.0)
            acc += v * tl.load(w_ptr + c * K * K + kh * K + kw)
    tl.store(y_ptr + plane * H * W + pos, acc, mask=pos < H * W)


class ModelNew(nn.Module):
    def __init__(self, channels, kernel_size):
        super().__init__()
        self.k = kernel_size
        self.weight = nn.Parameter(torch.randn(channels, kernel_size, kernel_size))

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        grid = (n * c, triton.cdiv(h * w, 256))
        depthwise_kernel[grid](x, self.weight, y, c, h, w, K=self.k, PAD=self.k // 2, BLOCK=256)
        return y


def get_init_inputs():
    return [4, 3]


def get_inputs():
    return [torch.randn(2, 4, 9, 13)]
