# kernel_type: gemm
# complexity: medium
# outcome: works
# near: try-except-fallback, side-stream, torch-does-the-work
"""Exceptions that are handled without hiding anything: told and raised again, cleaned up, or a smaller tile tried."""

import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.runtime.errors import OutOfResources


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for s in range(0, K, BK):
        k = s + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def run(a, b, c, tile):
    M, K = a.shape
    N = b.shape[1]
    matmul[(triton.cdiv(M, tile), triton.cdiv(N, tile))](a, b, c, M, N, K, BM=tile, BN=tile, BK=32)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.busy = False

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        c = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
        self.busy = True
        try:
            try:
                run(a, b, c, tile=128)
            except OutOfResources:
                run(a, b, c, tile=32)
        except Exception as error:
            print(f"matmul of {tuple(a.shape)} by {tuple(b.shape)} failed")
            raise RuntimeError("Triton matmul failed") from error
        finally:
            self.busy = False
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(33, 65), torch.randn(65, 40)]
