# kernel_type: reduction
# complexity: medium
# outcome: fails
"""First position per row above a threshold; stops when it has one."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def first_above_kernel(x_ptr, out_ptr, threshold, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    found = n_cols
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=float("-inf"))
        hit = tl.min(tl.where(x > threshold, cols, n_cols), axis=0)
        found = tl.minimum(found, hit)
        if found < n_cols:
            break  #! break-in-kernel
    tl.store(out_ptr + row, found)


class ModelNew(nn.Module):
    def __init__(self, threshold: float):
        super().__init__()
        self.threshold = threshold

    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty(rows, device=x.device, dtype=torch.int32)
        first_above_kernel[(rows,)](x, out, self.threshold, cols, BLOCK=256)
        return out


def get_init_inputs():
    return [2.0]


def get_inputs():
    return [torch.randn(9, 1000)]
