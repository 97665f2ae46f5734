# kernel_type: gemm
# complexity: medium
# outcome: works
# near: dot-tile-too-small, arange-not-power-of-two, grid-axis
"""The smallest tiles every release takes, on a folded three-axis grid."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def small_bmm(a, b, c, M, N, K, SIDE: tl.constexpr, DEPTH: tl.constexpr):
    tile_m = tl.program_id(axis=0)
    tile_n = tl.program_id(axis=1)
    batch = tl.program_id(axis=2)
    m = tile_m * SIDE + tl.arange(0, SIDE)
    n = tile_n * SIDE + tl.arange(0, SIDE)
    acc = tl.zeros((SIDE, SIDE), dtype=tl.float32)
    for start in range(0, K, DEPTH):
        k = start + tl.arange(0, DEPTH)
        left = tl.load(a + batch * M * K + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + batch * K * N + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(left, right, acc, input_precision="ieee")
    tl.store(c + batch * M * N + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        batch, M, K = a.shape
        N = b.shape[2]
        c = torch.empty(batch, M, N, device=a.device, dtype=torch.float32)
        grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), batch)
        small_bmm[grid](a, b, c, M, N, K, SIDE=16, DEPTH=16)
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 20, 30), torch.randn(2, 30, 40)]
