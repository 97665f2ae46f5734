# kernel_type: convolution
# complexity: medium
# outcome: works
"""Transposed convolution, one output per program: a tap counts only where the stride divides what it reaches."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scatter_as_gather(x, w, y, CI, H, W, CO, OH, OW, step, pad, K: tl.constexpr):
    at = tl.program_id(0)
    col = at % OW
    row = (at // OW) % OH
    co = (at // (OW * OH)) % CO
    img = at // (OW * OH * CO)
    acc = 0.0
    for ci in range(CI):  #! direct-convolution
        for r in range(K):
            up = row + pad - r
            for s in range(K):
                across = col + pad - s
                if (up >= 0) & (across >= 0) & (up % step == 0) & (across % step == 0):
                    i = up // step
                    j = across // step
                    if (i < H) & (j < W):
                        pixel = tl.load(x + ((img * CI + ci) * H + i) * W + j)
                        weight = tl.load(w + ((ci * CO + co) * K + r) * K + s)
                        acc += pixel * weight
    tl.store(y + at, acc)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 5, 3, 3))

    def forward(self, x):
        x = x.contiguous()
        n, ci, h, w = x.shape
        co, k = self.weight.shape[1], self.weight.shape[2]
        oh, ow = (h - 1) * 2 - 2 + k, (w - 1) * 2 - 2 + k
        y = torch.empty(n, co, oh, ow, device=x.device)
        scatter_as_gather[(y.numel(),)](x, self.weight, y, ci, h, w, co, oh, ow, 2, 1, K=k)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 6, 7)]
