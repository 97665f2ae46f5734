# kernel_type: scan
# complexity: high
# outcome: fails
"""Cumulative sum over long rows; the carry is taken from the last element of the scanned block."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_cumsum(src_ptr, dst_ptr, n_cols, row_stride, CHUNK: tl.constexpr):
    row = tl.program_id(0)
    src = src_ptr + row * row_stride
    dst = dst_ptr + row * row_stride
    carry = 0.0
    for start in range(0, n_cols, CHUNK):
        cols = start + tl.arange(0, CHUNK)
        mask = cols < n_cols
        part = tl.cumsum(tl.load(src + cols, mask=mask, other=0.0), axis=0)
        tl.store(dst + cols, part + carry, mask=mask)
        carry += part[CHUNK - 1]  #! tensor-indexing
        tail = part[-8:]  #! tensor-indexing
        carry += tl.sum(tail) * 0.0


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        rows, cols = x.shape
        row_cumsum[(rows,)](x, out, cols, x.stride(0), CHUNK=256)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5, 1000)]
