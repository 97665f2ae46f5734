"""Deliberately wrong: softmax without masks, to see what `tilesmith check` says.

Right only where the block divides the row; elsewhere it reads and writes past the end.

    y[m, n] = exp(x[m, n] - max_n x[m, n]) / sum_n exp(x[m, n] - max_n x[m, n])

x and y have shape (M, N). One program per row: a first pass keeps a running maximum and the sum
relative to it, a second writes. Two reads and one write instead of the four and two of naive code.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(
    # pointers
    x_ptr,
    y_ptr,
    # sizes
    N,
    # strides
    stride_xm,
    stride_ym,
    # meta-parameters
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)  # M * N may pass 2**31
    offs_n = tl.arange(0, BLOCK_N)
    row_max = -float("inf")
    row_sum = 0.0
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row * stride_xm + start + offs_n).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        row_sum = row_sum * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), axis=0)
        row_max = new_max
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row * stride_xm + start + offs_n).to(tl.float32)
        y = tl.exp(x - row_max) / row_sum
        tl.store(y_ptr + row * stride_ym + start + offs_n, y.to(y_ptr.dtype.element_ty))


def softmax(x: torch.Tensor) -> torch.Tensor:
    rows = x.reshape(-1, x.shape[-1])
    assert rows.stride(-1) == 1, "the kernel walks along contiguous rows"
    y = torch.empty_like(rows)
    M, N = rows.shape
    BLOCK_N = min(triton.next_power_of_2(N), 4096)
    softmax_kernel[(M,)](rows, y, N, rows.stride(0), y.stride(0), BLOCK_N=BLOCK_N)
    return y.reshape(x.shape)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return softmax(x)
