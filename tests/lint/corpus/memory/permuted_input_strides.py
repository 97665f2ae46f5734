# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-mask, missing-other
"""tanh-GELU of a channels-last view. The view's strides are used for the freshly made, contiguous output too."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gelu_2d(x, y, rows, cols, stride_r, stride_c, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    where = r[:, None] * stride_r + c[None, :] * stride_c
    keep = (r < rows)[:, None] & (c < cols)[None, :]
    v = tl.load(x + where, keep, 0.0)
    inner = 0.7978845608 * (v + 0.044715 * v * v * v)
    tl.store(y + where, v * tl.sigmoid(2.0 * inner), keep)


class ModelNew(nn.Module):
    def forward(self, x):
        view = x.t()
        rows, cols = view.shape
        y = torch.empty((rows, cols), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(rows, 16), triton.cdiv(cols, 64))
        gelu_2d[grid](view, y, rows, cols, view.stride(0), view.stride(1), BR=16, BC=64)  #! stride-reuse
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(70, 50)]
