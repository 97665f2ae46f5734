# kernel_type: reduction
# complexity: low
# outcome: fails
"""A kernel made by a function reads that function's numbers; so does one nested in forward."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

OUT_TYPE = torch.float16


def make_dot():
    weight = 0.5

    @triton.jit
    def weighted_dot(a, b, out, n, TILE: tl.constexpr):
        i = tl.arange(0, TILE)
        left = tl.load(a + i, mask=i < n, other=0.0)
        right = tl.load(b + i, mask=i < n, other=0.0)
        total = tl.sum(left * right * weight, axis=0)  #! global-in-kernel
        tl.store(out, total.to(OUT_TYPE))  #! global-in-kernel

    return weighted_dot


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = make_dot()

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        out = torch.empty((), device=a.device, dtype=torch.float16)
        self.kernel[(1,)](a, b, out, a.numel(), TILE=triton.next_power_of_2(a.numel()))
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(100), torch.randn(100)]
