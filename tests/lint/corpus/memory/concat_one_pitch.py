# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-mask, int32-overflow
"""Concatenate two matrices along columns. Both inputs are walked with the pitch of the first."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def concat_cols(a, b, out, na, nb, pitch, out_pitch, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    left = tl.load(a + row * pitch + j, mask=j < na)
    right = tl.load(b + row * pitch + j, mask=j < nb)
    tl.store(out + row * out_pitch + j, left, mask=j < na)
    tl.store(out + row * out_pitch + na + j, right, mask=j < nb)


class ModelNew(nn.Module):
    def __init__(self, extra):
        super().__init__()
        self.extra = extra

    def forward(self, a):
        rows, na = a.shape
        b = torch.ones((rows, self.extra), device=a.device, dtype=a.dtype)
        nb = self.extra
        out = torch.empty((rows, na + nb), device=a.device, dtype=a.dtype)
        widest = triton.next_power_of_2(max(na, nb))
        concat_cols[(rows,)](a, b, out, na, nb, a.stride(0), out.stride(0), BLOCK=widest)  #! stride-reuse
        return out


def get_init_inputs():
    return [30]


def get_inputs():
    return [torch.randn(8, 50)]
