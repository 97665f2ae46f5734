# kernel_type: gemm
# complexity: medium
# outcome: works
# near: tf32-implicit, low-precision-accumulator
"""W8A8 linear: rows are quantized by one kernel, an int8 product with int32 accumulators follows."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantize_rows(X, Q, S, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    x = tl.load(X + row * K + k, mask=k < K, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-8) / 127.0
    q = x / scale
    q = tl.where(q >= 0, q + 0.5, q - 0.5)
    tl.store(Q + row * K + k, q.to(tl.int8), mask=k < K)
    tl.store(S + row, scale)


@triton.jit
def w8a8(Q, W, SQ, SW, BIAS, Y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(Q + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0)
        b = tl.load(W + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < K), other=0)
        acc += tl.dot(a, b, out_dtype=tl.int32)
    sq = tl.load(SQ + m, mask=m < M, other=0.0)
    sw = tl.load(SW + n, mask=n < N, other=0.0)
    y = acc.to(tl.float32) * sq[:, None] * sw[None, :] + tl.load(BIAS + n, mask=n < N, other=0.0)[None, :]
    tl.store(Y + m[:, None] * N + n[None, :], y, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 127, (n, k), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(n))
        self.bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        x = x.contiguous()
        m, k = x.shape
        n = self.weight.shape[0]
        q = torch.empty((m, k), dtype=torch.int8, device=x.device)
        s = torch.empty(m, dtype=torch.float32, device=x.device)
        quantize_rows[(m,)](x, q, s, k, BLOCK=triton.next_power_of_2(k))
        y = torch.empty((m, n), dtype=torch.float32, device=x.device)
        w8a8[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
            q, self.weight, s, self.scale, self.bias, y, m, n, k, BM=64, BN=64, BK=64
        )
        return y


def get_init_inputs():
    return [100, 70]


def get_inputs():
    return [torch.randn(50, 100)]
