# kernel_type: gemm
# complexity: medium
# outcome: works
# near: dot-tile-too-small, return-in-loop, break-in-kernel, grid-axis
"""A matrix-vector product without tl.dot, and one padded up to 16 columns; returns stand outside of loops."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gemv_rows(w_ptr, x_ptr, m, k_total, ROWS: tl.constexpr, DEPTH: tl.constexpr):
    acc = tl.zeros((ROWS,), dtype=tl.float32)
    for k0 in range(0, k_total, DEPTH):
        k = k0 + tl.arange(0, DEPTH)
        w = tl.load(w_ptr + m[:, None] * k_total + k[None, :], mask=k[None, :] < k_total, other=0.0)
        acc += tl.sum(w * tl.load(x_ptr + k, mask=k < k_total, other=0.0)[None, :], axis=1)
    return acc


@triton.jit
def gemv(w_ptr, x_ptr, y_ptr, rows, k_total, PADDED: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr):
    m = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)) % rows
    if PADDED:
        n = tl.arange(0, 16)
        acc = tl.zeros((ROWS, 16), dtype=tl.float32)
        for k0 in range(0, k_total, DEPTH):
            k = k0 + tl.arange(0, DEPTH)
            w = tl.load(w_ptr + m[:, None] * k_total + k[None, :], mask=k[None, :] < k_total, other=0.0)
            x = tl.load(x_ptr + k[:, None] + n[None, :] * 0, mask=(k[:, None] < k_total) & (n[None, :] < 1), other=0.0)
            acc = tl.dot(w, x, acc, input_precision="ieee")
        tl.store(y_ptr + m, tl.sum(acc, axis=1))
        return
    tl.store(y_ptr + m, gemv_rows(w_ptr, x_ptr, m, k_total, ROWS, DEPTH))


class ModelNew(nn.Module):
    def __init__(self, padded=False):
        super().__init__()
        self.padded = padded

    def forward(self, w, x):
        w, x = w.contiguous(), x.contiguous()
        rows, k = w.shape
        y = torch.empty(rows, device=w.device, dtype=torch.float32)
        gemv[(triton.cdiv(rows, 32), 1)](w, x, y, rows, k, PADDED=self.padded, ROWS=32, DEPTH=64)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(100, 130), torch.randn(130)]
