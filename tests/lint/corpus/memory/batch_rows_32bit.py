# kernel_type: normalization
# complexity: low
# outcome: works
# near: missing-mask, missing-other, contiguity-assumed
"""Softmax along the last dimension of [B, T, V], addressed with strides in 32 bits."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def vocab_softmax(x, y, xb, xt, yb, yt, V, WIDTH: tl.constexpr):
    b = tl.program_id(0)
    t = tl.program_id(1)
    c = tl.arange(0, WIDTH)
    z = tl.load(x + b * xb + t * xt + c, mask=c < V, other=-float("inf"))  #! int32-overflow
    z = tl.exp(z - tl.max(z, 0))
    tl.store(y + b * yb + t * yt + c, z / tl.sum(z, 0), mask=c < V)


class ModelNew(nn.Module):
    def forward(self, x):
        B, T, V = x.shape
        assert x.stride(2) == 1
        y = torch.empty_like(x)
        vocab_softmax[(B, T)](x, y, x.stride(0), x.stride(1), y.stride(0), y.stride(1), V,
                              WIDTH=triton.next_power_of_2(V))
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 5, 333)]
