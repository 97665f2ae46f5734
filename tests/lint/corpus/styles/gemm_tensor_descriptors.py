# kernel_type: gemm
# complexity: medium
# outcome: works
# near: missing-mask
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gemm_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK, num_stages=3):
        x = da.load([row, k])
        y = db.load([col, k])
        acc = tl.dot(x, y.T, acc)
    dc.store([row, col], acc.to(tl.bfloat16))


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, k, dtype=torch.bfloat16))

    def forward(self, x):
        triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
        x = x.to(torch.bfloat16).contiguous()
        m, k = x.shape
        n = self.weight.shape[0]
        out = torch.empty((m, n), dtype=torch.bfloat16, device=x.device)
        gemm_tma[(triton.cdiv(m, 128), triton.cdiv(n, 64))](x, self.weight, out, m, n, k, BM=128, BN=64, BK=64)
        return out


def get_init_inputs():
    return [128, 96]


def get_inputs():
    return [torch.randn(200, 128)]
