# kernel_type: gemm
# complexity: medium
# outcome: works
# near: direct-convolution
"""Batched product with flat indices: (batch * K + k) * N is an index made of two, no window."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bmm_flat(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(
            a_ptr + (batch * M + m[:, None]) * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + (batch * K + k[:, None]) * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0
        )
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + (batch * M + m[:, None]) * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        batch, m, k = a.shape
        n = b.shape[2]
        c = torch.empty(batch, m, n, device=a.device)
        bmm_flat[(triton.cdiv(m, 32), triton.cdiv(n, 32), batch)](a, b, c, m, n, k, BM=32, BN=32, BK=32)
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 40, 50), torch.randn(3, 50, 60)]
