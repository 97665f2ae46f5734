# kernel_type: elementwise
# complexity: low
# outcome: works
# near: decoy-kernel, torch-does-the-work, output-not-written, missing-mask
"""Kernels without arithmetic that are the whole task all the same: transpose, zero padding, a cast to half."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(src, dst, rows, cols, T: tl.constexpr):
    r = tl.program_id(0) * T + tl.arange(0, T)
    c = tl.program_id(1) * T + tl.arange(0, T)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(src + r[:, None] * cols + c[None, :], mask=inside, other=0.0)
    tl.store(dst + r[:, None] + c[None, :] * rows, tile, mask=inside)


@triton.jit
def pad_kernel(src, dst, rows, cols, width, left, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    from_source = (at >= left) & (at < left + cols)
    value = tl.load(src + row * cols + at - left, mask=from_source, other=0.0)
    tl.store(dst + row * width + at, value, mask=at < width)


@triton.jit
def to_half_kernel(src, dst, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at, tl.load(src + at, mask=at < n, other=0.0).to(tl.float16), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, left, right):
        super().__init__()
        self.left, self.right = left, right

    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        flipped = torch.empty((cols, rows), device=x.device, dtype=x.dtype)
        transpose_kernel[(triton.cdiv(rows, 32), triton.cdiv(cols, 32))](x, flipped, rows, cols, T=32)
        width = rows + self.left + self.right
        padded = torch.empty((cols, width), device=x.device, dtype=x.dtype)
        pad_kernel[(cols, triton.cdiv(width, 128))](flipped, padded, cols, rows, width, self.left, BLOCK=128)
        half = torch.empty((cols, width), device=x.device, dtype=torch.float16)
        to_half_kernel[(triton.cdiv(padded.numel(), 512),)](padded, half, padded.numel(), BLOCK=512)
        return half


def get_init_inputs():
    return [3, 5]


def get_inputs():
    return [torch.randn(37, 50)]
