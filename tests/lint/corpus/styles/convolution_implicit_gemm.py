# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution
"""Implicit GEMM: rows are output pixels, K runs over channel and tap together, tl.dot on gathered tiles."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_igemm(
    x_ptr, w_ptr, y_ptr, N, C, H, W, OC, OH, OW,
    KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr, PH: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    m = pm * BM + tl.arange(0, BM)
    oc = pn * BN + tl.arange(0, BN)
    n = m // (OH * OW)
    pixel = m % (OH * OW)
    oh = pixel // OW
    ow = pixel % OW
    total = C * KH * KW
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, total, BK):
        k = k0 + tl.arange(0, BK)
        ic = k // (KH * KW)
        tap = k % (KH * KW)
        ih = oh[:, None] * SH - PH + (tap // KW)[None, :]
        iw = ow[:, None] * SH - PH + (tap % KW)[None, :]
        ok = (m[:, None] < N * OH * OW) & (k[None, :] < total) & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
        a = tl.load(x_ptr + ((n[:, None] * C + ic[None, :]) * H + ih) * W + iw, mask=ok, other=0.0)
        b = tl.load(w_ptr + oc[None, :] * total + k[:, None], mask=(oc[None, :] < OC) & (k[:, None] < total), other=0.0)
        acc = tl.dot(a.to(tl.float16), b.to(tl.float16), acc)
    out = (n[:, None] * OC + oc[None, :]) * (OH * OW) + pixel[:, None]
    tl.store(y_ptr + out, acc, mask=(m[:, None] < N * OH * OW) & (oc[None, :] < OC))


class ModelNew(nn.Module):
    def __init__(self, cin, cout, k, stride, padding):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cout, cin, k, k))
        self.stride = stride
        self.padding = padding

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        OC, _, KH, KW = self.weight.shape
        OH = (H + 2 * self.padding - KH) // self.stride + 1
        OW = (W + 2 * self.padding - KW) // self.stride + 1
        y = torch.empty(N, OC, OH, OW, device=x.device)
        grid = lambda meta: (triton.cdiv(N * OH * OW, meta["BM"]), triton.cdiv(OC, meta["BN"]))
        conv_igemm[grid](
            x, self.weight, y, N, C, H, W, OC, OH, OW,
            KH=KH, KW=KW, SH=self.stride, PH=self.padding, BM=64, BN=32, BK=32, num_warps=4, num_stages=3,
        )
        return y


def get_init_inputs():
    return [6, 20, 3, 2, 1]


def get_inputs():
    return [torch.randn(2, 6, 19, 21)]
