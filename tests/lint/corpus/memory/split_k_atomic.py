# kernel_type: gemm
# complexity: medium
# outcome: works
# near: missing-mask, output-not-written, tf32-implicit
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def splitk(a, b, c, M, N, K, am, bk, cm,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLITS: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    part = tl.program_id(2)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(part * BK, K, BK * SPLITS):
        rk = k0 + tl.arange(0, BK)
        at = tl.load(a + rm[:, None] * am + rk[None, :], mask=(rm < M)[:, None] & (rk < K)[None, :], other=0.0)
        bt = tl.load(b + rk[:, None] * bk + rn[None, :], mask=(rk < K)[:, None] & (rn < N)[None, :], other=0.0)
        acc += tl.dot(at, bt, input_precision="ieee")
    inside = (rm < M)[:, None] & (rn < N)[None, :]
    tl.atomic_add(c + rm[:, None] * cm + rn[None, :], acc, mask=inside)  #! atomic-order


class ModelNew(nn.Module):
    def __init__(self, splits=8):
        super().__init__()
        self.splits = splits

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        c = torch.zeros((M, N), device=a.device, dtype=torch.float32)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32), self.splits)
        splitk[grid](a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0),
                     BM=32, BN=32, BK=32, SPLITS=self.splits)
        return c


def get_init_inputs():
    return [4]


def get_inputs():
    return [torch.randn(33, 500), torch.randn(500, 20)]
