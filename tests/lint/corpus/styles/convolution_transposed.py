# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution
"""Transposed convolution as a gather: for every tap the input position that reached this output, a dot over channels."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_transpose2d(
    x_ptr, w_ptr, y_ptr, N, CI, H, W, CO, OH, OW,
    K: tl.constexpr, S: tl.constexpr, P: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    pix = tl.program_id(0) * BM + tl.arange(0, BM)
    co = tl.program_id(1) * BN + tl.arange(0, BN)
    n = pix // (OH * OW)
    oh = (pix // OW) % OH
    ow = pix % OW
    acc = tl.zeros((BM, BN), tl.float32)
    for kh in range(K):
        up_h = oh + P - kh
        ih = up_h // S
        ok_h = (up_h >= 0) & (up_h % S == 0) & (ih < H)
        for kw in range(K):
            up_w = ow + P - kw
            iw = up_w // S
            ok = ok_h & (up_w >= 0) & (up_w % S == 0) & (iw < W) & (pix < N * OH * OW)
            for c0 in range(0, CI, BK):
                ci = c0 + tl.arange(0, BK)
                xa = (n[:, None] * CI + ci[None, :]) * H * W + ih[:, None] * W + iw[:, None]
                x = tl.load(x_ptr + xa, mask=ok[:, None] & (ci[None, :] < CI), other=0.0)
                wa = (ci[:, None] * CO + co[None, :]) * K * K + kh * K + kw
                w = tl.load(w_ptr + wa, mask=(ci[:, None] < CI) & (co[None, :] < CO), other=0.0)
                acc += tl.dot(x, w, allow_tf32=False)
    ya = (n[:, None] * CO + co[None, :]) * OH * OW + oh[:, None] * OW + ow[:, None]
    tl.store(y_ptr + ya, acc, mask=(pix[:, None] < N * OH * OW) & (co[None, :] < CO))


class ModelNew(nn.Module):
    def __init__(self, ci, co, k, s, p):
        super().__init__()
        self.up = nn.ConvTranspose2d(ci, co, k, stride=s, padding=p, bias=False)

    def forward(self, x):
        x = x.contiguous()
        n, ci, h, w = x.shape
        co = self.up.out_channels
        k, s, p = self.up.kernel_size[0], self.up.stride[0], self.up.padding[0]
        oh, ow = (h - 1) * s - 2 * p + k, (w - 1) * s - 2 * p + k
        y = torch.empty(n, co, oh, ow, device=x.device)
        conv_transpose2d[(triton.cdiv(n * oh * ow, 64), triton.cdiv(co, 16))](
            x, self.up.weight, y, n, ci, h, w, co, oh, ow, K=k, S=s, P=p, BM=64, BN=16, BK=16
        )
        return y


def get_init_inputs():
    return [5, 9, 4, 2, 1]


def get_inputs():
    return [torch.randn(2, 5, 8, 9)]
