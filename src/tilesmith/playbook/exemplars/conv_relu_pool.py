# mypy: ignore-errors
"""A convolution by PyTorch, and everything behind it in one Triton kernel.

    y[b, c, i, j] = max over the 2x2 window at (2i, 2j) of relu(conv(x)[b, c, ., .] + bias[c])

x has shape (B, C_in, H, W), y (B, C, P, Q) with P and Q half the convolution's height and width. cuDNN convolves
on tensor cores better than a kernel written by hand; what it leaves behind is traffic. Here the convolution's
output is read once and a quarter of it written, instead of three reads and two and a quarter writes.
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def bias_relu_pool_kernel(
    # pointers
    conv_ptr,
    bias_ptr,
    y_ptr,
    # sizes
    n_elements,
    C,
    H,
    W,
    P,
    Q,
    # meta-parameters
    BLOCK: tl.constexpr,
):
    # One element of y per lane; neighbouring lanes read neighbouring pairs of a row.
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elements
    j = offs % Q
    i = (offs // Q) % P
    plane = offs // (P * Q)  # b * C + c
    corner = conv_ptr + plane * H * W + 2 * i * W + 2 * j
    # P = H // 2 and Q = W // 2, so a window never reaches past the plane.
    top = tl.maximum(tl.load(corner, mask=mask, other=0.0), tl.load(corner + 1, mask=mask, other=0.0))
    below = tl.maximum(tl.load(corner + W, mask=mask, other=0.0), tl.load(corner + W + 1, mask=mask, other=0.0))
    # Adding a bias and relu are monotonic, so they may come after the maximum: once instead of four times.
    largest = tl.maximum(top, below).to(tl.float32)
    bias = tl.load(bias_ptr + plane % C, mask=mask, other=0.0).to(tl.float32)
    y = tl.maximum(largest + bias, 0.0)
    tl.store(y_ptr + offs, y.to(y_ptr.dtype.element_ty), mask=mask)


def bias_relu_pool(conv, bias):
    conv = conv.contiguous()
    B, C, H, W = conv.shape
    y = torch.empty((B, C, H // 2, W // 2), device=conv.device, dtype=conv.dtype)
    n_elements = y.numel()
    bias_relu_pool_kernel[(triton.cdiv(n_elements, 512),)](
        # inputs
        conv, bias,
        # outputs
        y,
        # constants
        n_elements, C, H, W, H // 2, W // 2, BLOCK=512, num_warps=4,
    )  # fmt: skip
    return y


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x):
        # The bias is left to the epilogue, so the convolution writes its result once and nothing else.
        product = torch.nn.functional.conv2d(x, self.conv.weight, None, padding=1)
        return bias_relu_pool(product, self.conv.bias)
