"""x plus a bias for each column: y[m, n] = x[m, n] + bias[n], one tile of rows and columns for each program."""

import torch
import triton
import triton.language as tl


@triton.jit
def bias_add_kernel(
    x_ptr,
    bias_ptr,
    y_ptr,
    M,
    N,
    stride_xm,
    stride_xn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    x_offsets = offs_m.to(tl.int64)[:, None] * stride_xm + offs_n[None, :] * stride_xn
    x = tl.load(x_ptr + x_offsets, mask=mask)
    bias = tl.load(bias_ptr + offs_n, mask=offs_n < N)
    tl.store(y_ptr + offs_m.to(tl.int64)[:, None] * N + offs_n[None, :], x + bias[None, :], mask=mask)


def bias_add(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x plus a bias for each column. The result is contiguous.

    x [M, N], bias [N]; float32, float16
    """
    M, N = x.shape
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    if y.numel() == 0:
        return y
    BLOCK_M, BLOCK_N = 16, 64
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    bias_add_kernel[grid](
        x,
        bias.contiguous(),
        y,
        M,
        N,
        x.stride(0),
        x.stride(1),
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
    )
    return y
