# kernel_type: reduction
# complexity: medium
# outcome: works
# near: grid-coverage, output-not-written
"""Several partial sums per row, then one program per row. The slices are rounded up inside the kernel."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

SPLITS = 8


@triton.jit
def partial_sums(x_ptr, part_ptr, n_cols, per_split, splits: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    split = tl.program_id(1)
    first = split * per_split
    last = tl.minimum(first + per_split, n_cols)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(first, last, BLOCK):
        cols = at + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n_cols + cols, mask=cols < last, other=0.0)
    tl.store(part_ptr + row * splits + split, tl.sum(total, axis=0))


@triton.jit
def finish(part_ptr, out_ptr, n_cols, splits: tl.constexpr):
    row = tl.program_id(0)
    parts = tl.load(part_ptr + row * splits + tl.arange(0, splits))
    tl.store(out_ptr + row, tl.sum(parts, axis=0) / n_cols)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        workspace = torch.empty(rows * SPLITS, device=x.device, dtype=torch.float32)
        means = torch.empty(rows, device=x.device, dtype=torch.float32)
        per_split = triton.cdiv(triton.cdiv(cols, SPLITS), 256) * 256
        partial_sums[(rows, SPLITS)](x, workspace, cols, per_split, splits=SPLITS, BLOCK=256)
        finish[(rows,)](workspace, means, cols, splits=SPLITS)
        return means


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 5000)]
