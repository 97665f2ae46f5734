# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-other
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_shift(
    x_ptr, gain_ptr, bias_ptr, out_ptr,
    n_rows, n_cols, row_pitch,
    TILE_R: tl.constexpr, TILE_C: tl.constexpr,
):
    rows = tl.program_id(0) * TILE_R + tl.arange(0, TILE_R)
    cols = tl.program_id(1) * TILE_C + tl.arange(0, TILE_C)
    row_ok = rows < n_rows
    gain = tl.load(gain_ptr + cols)  #! missing-mask
    bias = tl.load(bias_ptr + cols)  #! missing-mask
    offs = rows[:, None] * row_pitch + cols[None, :]
    # keep the last rows inside
    x = tl.load(x_ptr + offs, mask=row_ok[:, None])  #! missing-mask
    tl.store(out_ptr + offs, x * gain[None, :] + bias[None, :], mask=row_ok[:, None])  #! missing-mask


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        x = x.contiguous()
        n_rows, n_cols = x.shape
        out = torch.empty_like(x)
        grid = (triton.cdiv(n_rows, 8), triton.cdiv(n_cols, 128))
        scale_shift[grid](x, self.gain, self.bias, out, n_rows, n_cols, n_cols, TILE_R=8, TILE_C=128)
        return out


def get_init_inputs():
    return [300]


def get_inputs():
    return [torch.randn(33, 300)]
