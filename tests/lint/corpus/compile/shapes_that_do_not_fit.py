# kernel_type: reduction
# complexity: low
# outcome: fails
"""Row sums of a tile with sides that do not meet: a wrong axis, a wrong mask, a bare shape."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tile_sums(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    bias = tl.zeros(COLS, dtype=tl.float32)  #! constexpr-misuse
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    tile = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
    totals = tl.sum(tile, axis=1)
    grand = tl.sum(totals, axis=1)  #! constexpr-misuse
    shifted = totals + cols  #! constexpr-misuse
    first = tl.load(x_ptr, mask=cols < n_cols, other=0.0)  #! constexpr-misuse
    swapped = tl.trans(totals)  #! constexpr-misuse
    tl.store(out_ptr + rows, totals + grand + first + bias + shifted + swapped, mask=rows < n_rows)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        assert cols <= 128
        out = torch.empty(rows, device=x.device, dtype=torch.float32)
        tile_sums[(triton.cdiv(rows, 16),)](x, out, rows, cols, ROWS=16, COLS=128)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(50, 100)]
