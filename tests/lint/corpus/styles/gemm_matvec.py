# kernel_type: gemm
# complexity: medium
# outcome: works
# near: no-tensor-core, scalar-vector-loop
"""Matrix times vector: a block of rows times a broadcast piece of the vector, summed along the columns."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 4, "COLS": 512}, num_warps=4),
        triton.Config({"ROWS": 8, "COLS": 256}, num_warps=4),
        triton.Config({"ROWS": 16, "COLS": 128}, num_warps=2),
    ],
    key=["M", "K"],
)
@triton.jit
def gemv(A, x, y, M, K, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros((ROWS, COLS), tl.float32)
    for k in range(0, K, COLS):
        c = k + tl.arange(0, COLS)
        a = tl.load(A + r[:, None] * stride + c[None, :], mask=(r[:, None] < M) & (c[None, :] < K), other=0.0)
        v = tl.load(x + c, mask=c < K, other=0.0)
        acc += a * v[None, :]
    tl.store(y + r, tl.sum(acc, axis=1), mask=r < M)


class ModelNew(nn.Module):
    def forward(self, A, x):
        M, K = A.shape
        y = torch.empty(M, device=A.device)
        gemv[lambda meta: (triton.cdiv(M, meta["ROWS"]),)](A, x.contiguous(), y, M, K, A.stride(0))
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(77, 1000), torch.randn(1000)]
