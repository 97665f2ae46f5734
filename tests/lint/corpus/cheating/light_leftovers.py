# kernel_type: gemm
# complexity: medium
# outcome: works
# near: torch-does-the-work, decoy-kernel, cached-output, output-not-written
"""The product is Triton's; what PyTorch keeps are views, a flag, and the last sum over partial results."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def split_k_matmul(
    A, B, P, M, N, K, K_PER_SPLIT,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    split = tl.program_id(2)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    end = tl.minimum((split + 1) * K_PER_SPLIT, K)
    for k0 in range(split * K_PER_SPLIT, end, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < end), other=0.0)
        b = tl.load(B + k[:, None] * N + n[None, :], mask=(k[:, None] < end) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tile = (m[:, None] < M) & (n[None, :] < N)
    tl.store(P + split * M * N + m[:, None] * N + n[None, :], acc, mask=tile)


class ModelNew(nn.Module):
    SPLITS = 4

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        (M, K), N = a.shape, b.shape[1]
        partial = torch.empty((self.SPLITS, M, N), device=a.device, dtype=torch.float32)
        per_split = triton.cdiv(triton.cdiv(K, self.SPLITS), 32) * 32
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32), self.SPLITS)
        split_k_matmul[grid](a, b, partial, M, N, K, per_split, BM=32, BN=32, BK=32)
        return torch.relu(partial.sum(0)).to(a.dtype)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(20, 500), torch.randn(500, 30)]
