# kernel_type: elementwise
# complexity: low
# outcome: works
# near: tensor-indexing, arange-runtime-bound, global-in-kernel, undefined-name, python-in-kernel
"""Code behind a constant that is never true is never compiled; what is doubtful there is only worth a warning."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_rows(x_ptr, y_ptr, n_cols, WIDTH: tl.constexpr, ODD: tl.constexpr, STOP: tl.constexpr):
    row = tl.program_id(0)
    if ODD:
        cols = tl.arange(0, 48)  #! arange-not-power-of-two
        scale = tl.tanh(1.0)  #! unknown-language-function
    else:
        cols = tl.arange(0, WIDTH)
        scale = 2.0
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    for step in range(3):
        if STOP:
            break  #! break-in-kernel
        x = x * scale + step
    if STOP and tl.program_id(5) == 0:  #! grid-axis
        x = x * 0.0
    tl.store(y_ptr + row * n_cols + cols, x, mask=cols < n_cols)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty_like(x)
        scale_rows[(rows,)](x, y, cols, WIDTH=triton.next_power_of_2(cols), ODD=False, STOP=False)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 50)]
