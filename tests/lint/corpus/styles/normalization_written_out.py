# kernel_type: normalization
# complexity: low
# outcome: works
"""Softmax over an axis of four, each neighbour loaded by itself; exponentials first, then the division."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shifted_exponentials(src, dst, total, INNER: tl.constexpr, LANES: tl.constexpr):
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    live = at < total
    first = at % INNER + (at // (4 * INNER)) * (4 * INNER)
    own = tl.load(src + at, live, other=0.0)
    a = tl.load(src + first, live, other=0.0)
    b = tl.load(src + (first + INNER), live, other=0.0)
    c = tl.load(src + (first + 2 * INNER), live, other=0.0)
    d = tl.load(src + (first + 3 * INNER), live, other=0.0)
    top = tl.maximum(tl.maximum(a, b), tl.maximum(c, d))
    tl.store(dst + at, tl.exp(own - top), live)


@triton.jit
def divided(src, dst, total, INNER: tl.constexpr, LANES: tl.constexpr):
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    live = at < total
    first = at % INNER + (at // (4 * INNER)) * (4 * INNER)
    own = tl.load(src + at, live, other=0.0)
    a = tl.load(src + first, live, other=0.0)
    b = tl.load(src + (first + INNER), live, other=0.0)
    c = tl.load(src + (first + 2 * INNER), live, other=0.0)
    d = tl.load(src + (first + 3 * INNER), live, other=0.0)
    tl.store(dst + at, own / (a + b + (c + d)), live)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        total, inner = x.numel(), x.shape[2] * x.shape[3]
        raised, out = torch.empty_like(x), torch.empty_like(x)
        grid = (triton.cdiv(total, 128),)
        shifted_exponentials[grid](x, raised, total, INNER=inner, LANES=128)
        divided[grid](raised, out, total, INNER=inner, LANES=128)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5, 4, 6, 7)]
