# kernel_type: normalization
# complexity: medium
# outcome: works
# near: unsafe-exp, missing-other
"""Minimum over depth, then softmax over channels, all in one program per patch of pixels."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def min_softmax(x_ptr, y_ptr, C, D, S, BC: tl.constexpr, BS: tl.constexpr):
    n = tl.program_id(0)
    c = tl.arange(0, BC)[:, None]
    s = tl.program_id(1) * BS + tl.arange(0, BS)[None, :]
    ok = (c < C) & (s < S)
    low = tl.full((BC, BS), float("inf"), tl.float32)
    for depth in range(D):
        v = tl.load(x_ptr + ((n * C + c) * D + depth) * S + s, mask=ok, other=float("inf"))
        low = tl.minimum(low, v)
    low = tl.where(c < C, low, -1e30)
    e = tl.exp(low - tl.max(low, axis=0)[None, :])
    tl.store(y_ptr + (n * C + c) * S + s, e / tl.sum(e, axis=0)[None, :], mask=ok)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n, c, d, h, w = x.shape
        y = torch.empty(n, c, h, w, device=x.device, dtype=x.dtype)
        min_softmax[(n, triton.cdiv(h * w, 64))](x, y, c, d, h * w, BC=triton.next_power_of_2(c), BS=64)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 6, 5, 7, 9)]
