# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution, scalar-vector-loop, no-tensor-core
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def depthwise2d(inp, flt, res, C, H, W, OH, OW, PAD: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    ch = plane % C
    p = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    y = p // OW
    x = p % OW
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(K):
        for j in range(K):
            r = y + i - PAD
            c = x + j - PAD
            on = (r >= 0) & (r < H) & (c >= 0) & (c < W)
            f = tl.load(flt + ch * K * K + i * K + j)
            total += f * tl.load(inp + plane * H * W + r * W + c, mask=on, other=0.0)
    tl.store(res + plane * OH * OW + p, total, mask=p < OH * OW)


class ModelNew(nn.Module):
    def __init__(self, channels, k, pad):
        super().__init__()
        self.dw = nn.Conv2d(channels, channels, k, padding=pad, groups=channels, bias=False)
        self.k, self.pad = k, pad

    def forward(self, x):
        N, C, H, W = x.shape
        OH, OW = H + 2 * self.pad - self.k + 1, W + 2 * self.pad - self.k + 1
        res = torch.empty(N, C, OH, OW, device=x.device, dtype=x.dtype)
        depthwise2d[(N * C, triton.cdiv(OH * OW, 256))](
            x.contiguous(), self.dw.weight, res, C, H, W, OH, OW, PAD=self.pad, K=self.k, BLOCK=256
        )
        return res


def get_init_inputs():
    return [6, 3, 1]


def get_inputs():
    return [torch.randn(2, 6, 20, 20)]
