# kernel_type: gemm
# complexity: medium
# outcome: fails
"""tl.dot with a vector, and tiles whose inner sides disagree."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gemv_kernel(w_ptr, x_ptr, y_ptr, rows, cols, BM: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM,), dtype=tl.float32)
    for start in range(0, cols, BK):
        k = start + tl.arange(0, BK)
        w = tl.load(w_ptr + m[:, None] * cols + k[None, :], mask=(m[:, None] < rows) & (k[None, :] < cols), other=0.0)
        x = tl.load(x_ptr + k, mask=k < cols, other=0.0)
        acc += tl.dot(w, x, input_precision="ieee")  #! dot-tile-too-small
    tl.store(y_ptr + m, acc, mask=m < rows)


@triton.jit
def gram_kernel(w_ptr, g_ptr, rows, cols, BM: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    k = tl.arange(0, BK)
    w = tl.load(w_ptr + m[:, None] * cols + k[None, :], mask=(m[:, None] < rows) & (k[None, :] < cols), other=0.0)
    g = tl.dot(w, w, input_precision="ieee")  #! dot-tile-too-small
    tl.store(g_ptr + m[:, None] * BK + k[None, :], g, mask=m[:, None] < rows)


class ModelNew(nn.Module):
    def __init__(self, rows, cols):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(rows, cols))

    def forward(self, x):
        x = x.contiguous()
        rows, cols = self.weight.shape
        y = torch.empty(rows, device=x.device, dtype=torch.float32)
        gram = torch.empty(32, 64, device=x.device, dtype=torch.float32)
        gemv_kernel[(triton.cdiv(rows, 64),)](self.weight, x, y, rows, cols, BM=64, BK=64)
        gram_kernel[(1,)](self.weight, gram, rows, cols, BM=32, BK=64)
        return y, gram


def get_init_inputs():
    return [100, 130]


def get_inputs():
    return [torch.randn(130)]
