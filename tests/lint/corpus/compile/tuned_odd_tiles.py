# kernel_type: reduction
# complexity: low
# outcome: fails
"""Row sums, tuned over three widths of which none is a power of two."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"COLS": 384}, num_warps=4),
        triton.Config({"COLS": 640}, num_warps=4),
        triton.Config({"COLS": 768}, num_warps=8),
    ],
    key=["n_cols"],
)
@triton.jit
def row_sum(x_ptr, out_ptr, n_cols, COLS: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    cols = part * COLS + tl.arange(0, COLS)  #! arange-not-power-of-two
    v = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.atomic_add(out_ptr + row, tl.sum(v, axis=0))  #! atomic-order


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.zeros(rows, device=x.device, dtype=torch.float32)
        row_sum[lambda m: (rows, triton.cdiv(cols, m["COLS"]))](x, out, cols)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 2000)]
