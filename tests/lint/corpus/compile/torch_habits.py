# kernel_type: normalization
# complexity: low
# outcome: fails
"""Layer normalization by someone who thinks of tensors as torch tensors: methods, dim=, keepdim=."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm(x_ptr, y_ptr, n_rows, n_cols, eps, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
    mean = x.mean(1)  #! unknown-language-function
    centred = tl.where(mask, x - mean[:, None], 0.0)
    var = tl.sum(centred * centred, dim=1) / n_cols  #! unknown-language-function
    tl.rsqrt(var + eps).unsqueeze(1)  #! unknown-language-function
    centred = centred * tl.rsqrt(var + eps)[:, None]
    tl.store(y_ptr + rows[:, None] * n_cols + cols[None, :], centred.half(), mask=mask)  #! unknown-language-function


class ModelNew(nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty_like(x)
        layer_norm[(triton.cdiv(rows, 4),)](x, y, rows, cols, self.eps, ROWS=4, COLS=triton.next_power_of_2(cols))
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(10, 100)]
