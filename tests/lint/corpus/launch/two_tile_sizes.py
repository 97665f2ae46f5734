# kernel_type: reduction
# complexity: low
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl

TILE_ROWS = 64


@triton.jit
def row_absmax(src, dst, rows, cols, src_stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(axis=0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    inside = (r < rows)[:, None] & (c < cols)[None, :]
    block = tl.load(src + r[:, None] * src_stride + c[None, :], mask=inside, other=0.0)
    tl.store(dst + r, tl.max(tl.abs(block), axis=1), mask=r < rows)


class ModelNew(nn.Module):
    """Largest magnitude of every row. The grid was written for tiles of 64 rows, the launch uses 32."""

    def forward(self, x):
        rows, cols = x.shape
        best = torch.empty(rows, dtype=x.dtype, device=x.device)
        blocks = (rows + TILE_ROWS - 1) // TILE_ROWS  #! grid-coverage
        row_absmax[(blocks,)](x, best, rows, cols, x.stride(0), R=32, C=triton.next_power_of_2(cols))
        return best


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(300, 100)]
