# kernel_type: gemm
# complexity: medium
# outcome: fails
# near: missing-mask, missing-other
"""Batched x @ w^T with block pointers (gone from the newest release); batch on the second axis of the grid."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bmm_bp(x, w, y, M, N, K, sxb, sxm, sxk, swn, swk, syb, sym, syn,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    batch = tl.program_id(1).to(tl.int64)
    columns = (N + BN - 1) // BN
    i = (tile // columns) * BM
    j = (tile % columns) * BN
    xp = tl.make_block_ptr(x + batch * sxb, (M, K), (sxm, sxk), (i, 0), (BM, BK), (1, 0))
    wp = tl.make_block_ptr(w, (K, N), (swk, swn), (0, j), (BK, BN), (0, 1))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        a = tl.load(xp, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(wp, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(a, b, acc, input_precision="tf32x3")
        xp = tl.advance(xp, (0, BK))
        wp = tl.advance(wp, (BK, 0))
    yp = tl.make_block_ptr(y + batch * syb, (M, N), (sym, syn), (i, j), (BM, BN), (1, 0))
    tl.store(yp, acc, boundary_check=(0, 1))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=False)

    def forward(self, x):
        b, m, k = x.shape
        w = self.linear.weight
        n = w.shape[0]
        y = torch.empty(b, m, n, device=x.device, dtype=torch.float32)
        grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]), b)
        bmm_bp[grid](x, w, y, m, n, k, *x.stride(), *w.stride(), *y.stride(), BM=32, BN=64, BK=32, num_warps=4)
        return y


def get_init_inputs():
    return [60, 90]


def get_inputs():
    return [torch.randn(3, 33, 60)]
