# kernel_type: gemm
# complexity: medium
# outcome: works
"""Three kernels with loops, of which every call starts only one."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def wide(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)
        acc += tl.dot(x, y, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def one_row(a, b, c, N, K, BN: tl.constexpr, BK: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN,), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + k, mask=k < K, other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)
        acc += tl.sum(x[:, None] * y, 0)
    tl.store(c + n, acc, mask=n < N)


@triton.jit
def one_column(a, b, c, M, K, BM: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM,), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        acc += tl.sum(x * tl.load(b + k, mask=k < K, other=0.0)[None, :], 1)
    tl.store(c + m, acc, mask=m < M)


def product(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device)
    if m == 1:
        one_row[(triton.cdiv(n, 64),)](a, b, c, n, k, BN=64, BK=32)
    elif n == 1:
        one_column[(triton.cdiv(m, 64),)](a, b, c, m, k, BM=64, BK=32)
    else:
        wide[(triton.cdiv(m, 32), triton.cdiv(n, 32))](a, b, c, m, n, k, BM=32, BN=32, BK=32)
    return c


class ModelNew(nn.Module):
    def forward(self, a, b):
        return product(a.contiguous(), b.contiguous())


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(40, 50), torch.randn(50, 60)]
