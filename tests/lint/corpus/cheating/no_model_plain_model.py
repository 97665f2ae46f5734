# kernel_type: normalization
# complexity: low
# outcome: fails
# near: no-triton-launch, reference-imported
# finds: no-model-class
"""The author kept the reference's class name, so nothing is called ModelNew."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_rows(out_ptr, in_ptr, row_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(in_ptr + row * row_stride + cols, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n_cols + cols, e / tl.sum(e, axis=0), mask=mask)


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        rows, cols = x.shape
        y = torch.empty((rows, cols), device=x.device, dtype=x.dtype)
        softmax_rows[(rows,)](y, x, x.stride(0), cols, BLOCK=triton.next_power_of_2(cols))
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(8, 300)]
