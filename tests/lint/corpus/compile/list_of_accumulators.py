# kernel_type: reduction
# complexity: medium
# outcome: fails
"""Four moments of each row, kept in a Python list."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def moments_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    sums = []
    for _ in tl.static_range(4):
        sums.append(tl.zeros((BLOCK,), dtype=tl.float32))  #! python-in-kernel
    weights = [1.0 / (k + 1) for k in range(4)]  #! python-in-kernel
    first = last = 0.0  #! python-in-kernel
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
        first += tl.sum(x, axis=0)
        last += tl.sum(x**4, axis=0)  #! python-in-kernel
    for k, total in enumerate(sums):  #! python-in-kernel, python-in-kernel
        tl.store(out_ptr + row * 4 + k, tl.sum(total, axis=0) * weights[k] + first + last)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty(rows, 4, device=x.device, dtype=torch.float32)
        moments_kernel[(rows,)](x, out, cols, BLOCK=256)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5, 600)]
