# kernel_type: gemm
# complexity: medium
# outcome: works
"""Matrix times vector, the vector loaded as a tile of its own as wide as the matrix tile."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gemv_tiles(A, X, Y, M, K, lda, BM: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    rk = tl.arange(0, BK)[None, :]
    acc = tl.zeros([BM, BK], tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        kk = k * BK + rk
        ok = (rm < M) & (kk < K)
        a = tl.load(A + rm * lda + kk, ok, other=0.0)
        x = tl.load(X + tl.broadcast_to(kk, (BM, BK)), ok, other=0.0)
        acc = acc + a * x
    y = tl.sum(acc, 1)[:, None]
    tl.store(Y + rm, y, rm < M)


class ModelNew(nn.Module):
    def forward(self, a, x):
        y = torch.empty(a.shape[0], 1, device=a.device)
        gemv_tiles[(triton.cdiv(a.shape[0], 8),)](a, x.contiguous(), y, a.shape[0], a.shape[1], a.stride(0), BM=8, BK=128)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(30, 200), torch.randn(200, 1)]
