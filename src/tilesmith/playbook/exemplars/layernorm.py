# mypy: ignore-errors
"""Layer normalization of the last dimension.

    y[m, n] = (x[m, n] - mean_n x[m, n]) / sqrt(var_n x[m, n] + eps) * weight[n] + bias[n]

x and y have shape (M, N), weight and bias (N,). One program per row, the row in registers, so x is read
once; the variance is taken of the centred row, because E[x^2] - E[x]^2 cancels when the mean is large.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def layernorm_kernel(
    # pointers
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    # sizes
    N,
    # strides
    stride_xm,
    stride_ym,
    # meta-parameters
    eps,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    centred = tl.where(mask_n, x - mean, 0.0)  # padding must not add mean**2 to the variance
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + eps)
    weight = tl.load(weight_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    y = centred * rstd * weight + bias
    tl.store(y_ptr + row * stride_ym + offs_n, y.to(y_ptr.dtype.element_ty), mask=mask_n)


def layernorm(x, weight, bias, eps):
    rows = x.reshape(-1, x.shape[-1]).contiguous()
    M, N = rows.shape
    assert N <= 32768, "a row must fit in the registers of one program"
    y = torch.empty_like(rows)
    BLOCK_N = triton.next_power_of_2(N)
    num_warps = min(max(BLOCK_N // 512, 1), 16)
    layernorm_kernel[(M,)](
        # inputs
        rows, weight, bias,
        # outputs
        y,
        # constants
        N, rows.stride(0), y.stride(0), eps, BLOCK_N=BLOCK_N, num_warps=num_warps,
    )  # fmt: skip
    return y.reshape(x.shape)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)  # holds the parameters under the reference's names

    def forward(self, x):
        return layernorm(x, self.norm.weight, self.norm.bias, self.norm.eps)
