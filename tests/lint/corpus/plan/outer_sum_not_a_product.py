# kernel_type: reduction
# complexity: medium
# outcome: works
# near: no-tensor-core, scalar-vector-loop, register-budget
"""A pairwise distance sums no products, and one outer product is no GEMM."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pairwise_l1(a, b, out, n, m, dim, BN: tl.constexpr, BM: tl.constexpr):
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    j = tl.program_id(1) * BM + tl.arange(0, BM)
    acc = tl.zeros((BN, BM), dtype=tl.float32)
    for d in range(dim):
        u = tl.load(a + i * dim + d, mask=i < n, other=0.0)
        v = tl.load(b + j * dim + d, mask=j < m, other=0.0)
        acc += tl.abs(u[:, None] - v[None, :])
    tl.store(out + i[:, None] * m + j[None, :], acc, mask=(i < n)[:, None] & (j < m)[None, :])


@triton.jit
def scale_both(x, row_scale, col_scale, n, m, BN: tl.constexpr, BM: tl.constexpr):
    i = tl.program_id(0) * BN + tl.arange(0, BN)
    j = tl.program_id(1) * BM + tl.arange(0, BM)
    inside = (i < n)[:, None] & (j < m)[None, :]
    r = tl.load(row_scale + i, mask=i < n, other=0.0)
    c = tl.load(col_scale + j, mask=j < m, other=0.0)
    at = x + i[:, None] * m + j[None, :]
    tl.store(at, tl.load(at, mask=inside, other=0.0) * (r[:, None] * c[None, :]), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.row_scale = nn.Parameter(torch.rand(n))
        self.col_scale = nn.Parameter(torch.rand(m))

    def forward(self, a, b):
        n, dim = a.shape
        m = b.shape[0]
        out = torch.empty(n, m, device=a.device, dtype=a.dtype)
        grid = (triton.cdiv(n, 64), triton.cdiv(m, 64))
        pairwise_l1[grid](a.contiguous(), b.contiguous(), out, n, m, dim, BN=64, BM=64)
        scale_both[grid](out, self.row_scale, self.col_scale, n, m, BN=64, BM=64)
        return out


def get_init_inputs():
    return [70, 90]


def get_inputs():
    return [torch.randn(70, 20), torch.randn(90, 20)]
