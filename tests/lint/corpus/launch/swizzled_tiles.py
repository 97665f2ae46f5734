# kernel_type: gemm
# complexity: medium
# outcome: works
# near: grid-coverage, tf32-implicit
"""1-D grid over 2-D tiles in grouped order; a batch on the second axis; bounds by tl.cdiv inside."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    A, B, C, M, N, K,
    a_b, a_m, a_k, b_b, b_k, b_n, c_b, c_m, c_n,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    pid, batch = tl.program_id(0), tl.program_id(1)
    num_m, num_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    pid_m, pid_n = tl.swizzle2d(pid // num_n, pid % num_n, num_m, num_n, GROUP)
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = A + batch * a_b + m[:, None] * a_m + k[None, :] * a_k
    b = B + batch * b_b + k[:, None] * b_k + n[None, :] * b_n
    acc = tl.zeros((BM, BN), tl.float32)
    for left in range(K, 0, -BK):
        x = tl.load(a, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        y = tl.load(b, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, y, input_precision="tf32x3")
        a += BK * a_k
        b += BK * b_k
    c = C + batch * c_b + m[:, None] * c_m + n[None, :] * c_n
    tl.store(c, acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    tile = (64, 32, 32)

    def forward(self, a, b):
        batch, m, k = a.shape
        n = b.shape[2]
        out = a.new_empty(batch, m, n)
        bm, bn, bk = self.tile
        tiles = ((m + bm - 1) // bm) * ((n + bn - 1) // bn)
        bmm_kernel[tiles, batch](a, b, out, m, n, k, *a.stride(), *b.stride(), *out.stride(), bm, bn, bk, 8)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 70, 50), torch.randn(3, 50, 40)]
