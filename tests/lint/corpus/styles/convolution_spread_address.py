# kernel_type: convolution
# complexity: medium
# outcome: works
"""The corner of each window is one pointer; taps are added to it far from the output position."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_rows(inp, wgt, out, C, H, W, OH, OW, KH, KW, sn, sc, sh, sw, step, BLOCK: tl.constexpr):
    n = tl.program_id(0)
    f = tl.program_id(1)
    spot = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    inside = spot < OH * OW
    top = spot // OW
    left = spot % OW
    corner = inp + n * sn + top * step * sh + left * step * sw
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for c in range(C):  #! direct-convolution
        for i in range(KH):
            for j in range(KW):
                pixel = tl.load(corner + c * sc + i * sh + j * sw, mask=inside, other=0.0)
                weight = tl.load(wgt + ((f * C + c) * KH + i) * KW + j)
                total += pixel * weight
    tl.store(out + (n * tl.num_programs(1) + f) * OH * OW + spot, total, mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 3, 3, 3))

    def forward(self, x):
        n, c, h, w = x.shape
        f, _, kh, kw = self.weight.shape
        oh, ow = (h - kh) // 2 + 1, (w - kw) // 2 + 1
        y = torch.empty(n, f, oh, ow, device=x.device)
        conv_rows[(n, f, triton.cdiv(oh * ow, 64))](
            x, self.weight, y, c, h, w, oh, ow, kh, kw, *x.stride(), 2, BLOCK=64
        )
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 19, 21)]
