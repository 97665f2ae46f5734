# kernel_type: gemm
# complexity: medium
# outcome: works
# near: time-loop-on-host, small-launch-count, no-tensor-core
import torch
import torch.nn as nn
import triton
import triton.language as tl

COEFFICIENTS = ((3.4445, -4.7750, 2.0315),) * 5


@triton.jit
def axpby_matmul(
    a_ptr, b_ptr, d_ptr, c_ptr, M, N, K, alpha, beta,
    stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """C = alpha * A @ B + beta * D."""
    rm = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rn = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        rk = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak,
                    mask=(rm < M)[:, None] & (rk < K)[None, :], other=0.0)
        b = tl.load(b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn,
                    mask=(rk < K)[:, None] & (rn < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    at = rm[:, None] * N + rn[None, :]
    inside = (rm < M)[:, None] & (rn < N)[None, :]
    acc = alpha * acc + beta * tl.load(d_ptr + at, mask=inside, other=0.0)
    tl.store(c_ptr + at, acc, mask=inside)


def gemm(a, b, d, alpha, beta):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(M, N, device=a.device, dtype=a.dtype)
    axpby_matmul[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        a, b, d, c, M, N, K, alpha, beta, a.stride(0), a.stride(1), b.stride(0), b.stride(1), BLOCK=32, BLOCK_K=32
    )
    return c


class ModelNew(nn.Module):
    """Orthogonalise by a fixed number of Newton-Schulz iterations: X = aX + (bA + cAA)X with A = XX^T."""

    def forward(self, g):
        x = g / ((g * g).sum().sqrt() + 1e-7)
        for a, b, c in COEFFICIENTS:
            gram = gemm(x, x.t(), x.new_zeros(x.shape[0], x.shape[0]), 1.0, 0.0)
            poly = gemm(gram, gram, gram, c, b)
            x = gemm(poly, x, x, 1.0, a)
        return x


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(40, 60)]
