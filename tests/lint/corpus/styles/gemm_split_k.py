# kernel_type: gemm
# complexity: medium
# outcome: works
# near: direct-convolution, output-not-written
"""Tall product with few output tiles: K is split over the third axis, partial tiles are added by torch."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def split_k(A, B, P, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    pm, pn, pz = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    m = pm * BM + tl.arange(0, BM)
    n = pn * BN + tl.arange(0, BN)
    k = pz * BK + tl.arange(0, BK)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for i in range(tl.cdiv(K, BK * SPLIT)):
        kk = i * BK * SPLIT + k
        a = tl.load(A + m[:, None] * K + kk[None, :], mask=(m[:, None] < M) & (kk[None, :] < K), other=0.0)
        b = tl.load(B + kk[:, None] * N + n[None, :], mask=(kk[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), acc)
    tl.store(P + pz * M * N + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    splits = 4

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        partial = torch.empty(self.splits, M, N, device=a.device, dtype=torch.float32)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32), self.splits)
        split_k[grid](a, b, partial, M, N, K, BM=32, BN=32, BK=64, SPLIT=self.splits)
        return partial.sum(dim=0)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(40, 2000), torch.randn(2000, 50)]
