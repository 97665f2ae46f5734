# kernel_type: normalization
# complexity: medium
# outcome: works
# near: unsafe-exp
"""log_softmax over the channel axis of [N, C, S]: a tile of positions per program, channels in loops."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def log_softmax_channels(x, y, C, S, BS: tl.constexpr, BC: tl.constexpr):
    n = tl.program_id(0)
    s = tl.program_id(1) * BS + tl.arange(0, BS)
    x += n * C * S
    y += n * C * S
    top = tl.full((BS,), float("-inf"), tl.float32)
    for c0 in range(0, C, BC):
        c = c0 + tl.arange(0, BC)
        m = (c[:, None] < C) & (s[None, :] < S)
        v = tl.load(x + c[:, None] * S + s[None, :], mask=m, other=float("-inf"))
        top = tl.maximum(top, tl.max(v, axis=0))
    mass = tl.zeros((BS,), tl.float32)
    for c0 in range(0, C, BC):
        c = c0 + tl.arange(0, BC)
        m = (c[:, None] < C) & (s[None, :] < S)
        v = tl.load(x + c[:, None] * S + s[None, :], mask=m, other=float("-inf"))
        mass += tl.sum(tl.exp(v - top[None, :]), axis=0)
    shift = top + tl.log(mass)
    for c0 in range(0, C, BC):
        c = c0 + tl.arange(0, BC)
        m = (c[:, None] < C) & (s[None, :] < S)
        v = tl.load(x + c[:, None] * S + s[None, :], mask=m, other=0.0)
        tl.store(y + c[:, None] * S + s[None, :], v - shift[None, :], mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n, c = x.shape[:2]
        s = x.numel() // (n * c)
        y = torch.empty_like(x)
        log_softmax_channels[(n, triton.cdiv(s, 64))](x, y, c, s, BS=64, BC=16)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 40, 9, 10)]
