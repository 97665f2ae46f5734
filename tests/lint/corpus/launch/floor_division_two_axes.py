# kernel_type: gemm
# complexity: medium
# outcome: works
"""C = A @ B with autotuned tiles; only the column axis is rounded up."""
import torch
from torch import nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
        triton.Config({"BM": 128, "BN": 64, "BK": 32}, num_warps=8, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ka = (rm[:, None] < M) & (rk[None, :] + k < K)
        kb = (rk[:, None] + k < K) & (rn[None, :] < N)
        x = tl.load(a + rm[:, None] * sam + (rk[None, :] + k) * sak, mask=ka, other=0.0)
        y = tl.load(b + (rk[:, None] + k) * sbk + rn[None, :] * sbn, mask=kb, other=0.0)
        acc = tl.dot(x, y, acc, input_precision="ieee")
    keep = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c + rm[:, None] * scm + rn[None, :] * scn, acc, mask=keep)


def mm(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    grid = lambda META: (
        M // META["BM"],  #! grid-coverage
        triton.cdiv(N, META["BN"]),
    )
    matmul[grid](
        a, b, c, M, N, K,
        a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
    )
    return c


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(k, n))

    def forward(self, x):
        return mm(x, self.weight)


def get_init_inputs():
    return [96, 80]


def get_inputs():
    return [torch.randn(200, 96)]
