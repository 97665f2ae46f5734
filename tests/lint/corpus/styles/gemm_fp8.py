# kernel_type: gemm
# complexity: medium
# outcome: works
# near: tf32-implicit, low-precision-accumulator
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fp8_gemm(a, b, c, scale, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + ks)[None, :], mask=(rows < M)[:, None] & (k + ks < K)[None, :], other=0.0)
        right = tl.load(b + cols[None, :] * K + (k + ks)[:, None], mask=(cols < N)[None, :] & (k + ks < K)[:, None], other=0.0)
        acc = tl.dot(left.to(tl.float8e4nv), right.to(tl.float8e4nv), acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc * scale, mask=(rows < M)[:, None] & (cols < N)[None, :])


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, k))

    def forward(self, x):
        x = x.contiguous()
        m, k = x.shape
        n = self.weight.shape[0]
        y = torch.empty(m, n, device=x.device)
        fp8_gemm[triton.cdiv(n, 64), triton.cdiv(m, 64)](x, self.weight, y, 1.0, m, n, k, BM=64, BN=64, BK=64)
        return y


def get_init_inputs():
    return [96, 130]


def get_inputs():
    return [torch.randn(65, 96)]
