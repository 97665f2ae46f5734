# kernel_type: gemm
# complexity: medium
# outcome: works
"""float64-like care: outer products accumulated without tensor cores."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def outer_gemm(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(K):
        a = tl.load(A + m * K + k, mask=m < M, other=0.0)
        b = tl.load(B + k * N + n, mask=n < N, other=0.0)
        acc += a[:, None] * b[None, :]  #! no-tensor-core
    tl.store(C + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty(M, N, device=a.device)
        outer_gemm[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, BM=32, BN=32)
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(40, 30), torch.randn(30, 50)]
