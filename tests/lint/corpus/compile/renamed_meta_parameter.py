# kernel_type: normalization
# complexity: low
# outcome: fails
"""The kernel's parameter was renamed, the launch and its grid were not."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_rows(x_ptr, w_ptr, y_ptr, n_rows, n_cols, eps, ROWS_PER_PROGRAM: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS_PER_PROGRAM + tl.arange(0, ROWS_PER_PROGRAM)
    cols = tl.arange(0, COLS)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
    w = tl.load(w_ptr + cols, mask=cols < n_cols, other=0.0)
    rms = tl.rsqrt(tl.sum(x * x, axis=1) / n_cols + eps)
    tl.store(y_ptr + rows[:, None] * n_cols + cols[None, :], x * rms[:, None] * w[None, :], mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty_like(x)
        rms_norm_rows[lambda META: (triton.cdiv(rows, META["BLOCK_ROWS"]),)](  #! launch-arguments
            x, self.weight, y, rows, cols, self.eps,
            BLOCK_ROWS=4, COLS=triton.next_power_of_2(cols), num_warps=4,
        )
        return y


def get_init_inputs():
    return [100]


def get_inputs():
    return [torch.randn(30, 100)]
