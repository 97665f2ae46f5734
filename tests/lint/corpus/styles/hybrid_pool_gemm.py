# kernel_type: hybrid
# complexity: medium
# outcome: works
"""Pooling and sorting by torch, the big product by Triton."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def dense(X, W, Y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(X + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(W + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < K), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="tf32x3")
    tl.store(Y + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, features))

    def forward(self, x):
        pooled = F.max_pool2d(x, 2).flatten(1).contiguous()
        m, k = pooled.shape
        n = self.weight.shape[0]
        y = torch.empty(m, n, device=x.device)
        dense[(triton.cdiv(m, 16), triton.cdiv(n, 64))](pooled, self.weight, y, m, n, k, BM=16, BN=64, BK=32)
        return torch.topk(y, 5, dim=1).values


def get_init_inputs():
    return [3 * 7 * 7, 50]


def get_inputs():
    return [torch.randn(4, 3, 14, 14)]
