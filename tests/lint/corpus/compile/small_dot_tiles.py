# kernel_type: gemm
# complexity: medium
# outcome: fails
"""A skinny product: four columns of K at a time, eight rows of M."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def skinny_gemm(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + rk
        a = tl.load(a_ptr + rm[:, None] * K + k[None, :], mask=(rm[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + rn[None, :], mask=(k[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")  #! dot-tile-too-small
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty(M, N, device=a.device, dtype=torch.float32)
        skinny_gemm[(triton.cdiv(M, 8), triton.cdiv(N, 64))](a, b, c, M, N, K, BM=8, BN=64, BK=4)
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(8, 37), torch.randn(37, 100)]
