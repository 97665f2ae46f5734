# kernel_type: normalization
# complexity: low
# outcome: works
"""Weight norm, w = g * v / |v| per row; the factor is made by torch-style methods on the block."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weight_norm(v_ptr, g_ptr, w_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    inside = (r < rows) & (c < cols)
    v = tl.load(v_ptr + r * cols + c, mask=inside, other=0.0)
    length = tl.sqrt((v * v).sum(axis=1, keep_dims=True))
    g = tl.load(g_ptr + r, mask=r < rows, other=0.0)
    tl.store(w_ptr + r * cols + c, v * (g / tl.maximum(length, 1e-12)), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, rows, cols):
        super().__init__()
        self.v = nn.Parameter(torch.randn(rows, cols))
        self.g = nn.Parameter(torch.ones(rows, 1))

    def forward(self):
        rows, cols = self.v.shape
        w = torch.empty_like(self.v)
        weight_norm[(triton.cdiv(rows, 4),)](self.v, self.g, w, rows, cols, R=4, C=triton.next_power_of_2(cols))
        return w


def get_init_inputs():
    return [30, 50]


def get_inputs():
    return []
