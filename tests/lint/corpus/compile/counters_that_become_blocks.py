# kernel_type: reduction
# complexity: medium
# outcome: fails
"""A variable starts as the number 0 and is given blocks in the loop; another gets a fraction in a branch."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_sums(x_ptr, out_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = 0
    scale = 1
    for row in range(n_rows):  #! python-in-kernel
        acc += tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    if tl.load(x_ptr) > 0.0:  #! python-in-kernel
        scale = 0.5
    half = tl.program_id(0).to(tl.float32) // 2  #! python-in-kernel
    for _ in range(n_rows / 2):  #! python-in-kernel
        half += 1.0
    tl.store(out_ptr + cols, acc * scale + half * 0.0, mask=cols < n_cols)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty(cols, device=x.device, dtype=torch.float32)
        column_sums[(triton.cdiv(cols, 128),)](x, out, rows, cols, BLOCK=128)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(50, 100)]
