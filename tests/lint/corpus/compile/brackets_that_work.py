# kernel_type: reduction
# complexity: medium
# outcome: works
# near: tensor-indexing, python-in-kernel, constexpr-misuse, arange-runtime-bound
"""Brackets on tuples, lists, shapes and constants; `None` and `:` on tensors."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def extremes(value, index, other, other_index):
    take = other > value
    return tl.where(take, other, value), tl.where(take, other_index, index)


@triton.jit
def pick_max(x_ptr, out_ptr, at_ptr, shape: tl.constexpr, n_rows, n_cols, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, shape[1])
    tile = tl.load(
        x_ptr + rows[:, None] * n_cols + cols[None, :],
        mask=(rows[:, None] < n_rows) & (cols < n_cols)[None, :],
        other=float("-inf"),
    )
    best = tl.max(tile, axis=1, return_indices=True)
    pair = (best[0], best[1])
    where = [pair[1], pair[0]]
    lanes = tl.arange(0, tile.shape[0])
    spread = tl.zeros((tile.shape[0],), dtype=tl.float32) + lanes * 0.0
    for i in tl.static_range(2):
        spread += where[i].to(tl.float32) * 0.0
    tl.store(out_ptr + rows, pair[0] + spread, mask=rows < n_rows)
    tl.store(at_ptr + rows, where[0], mask=rows < n_rows)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        values = torch.empty(rows, device=x.device, dtype=x.dtype)
        places = torch.empty(rows, device=x.device, dtype=torch.int32)
        block = (4, triton.next_power_of_2(cols))
        pick_max[(triton.cdiv(rows, 4),)](x, values, places, block, rows, cols, ROWS=4)
        return values, places


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(10, 60)]
