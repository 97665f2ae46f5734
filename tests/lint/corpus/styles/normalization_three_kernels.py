# kernel_type: normalization
# complexity: medium
# outcome: works
"""Batch norm in training: partial sums, statistics, then the scaling."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_sums(x, p1, p2, N, C, HW, SPLITS, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    s = tl.program_id(1)
    a = tl.zeros((BLOCK,), tl.float32)
    b = tl.zeros((BLOCK,), tl.float32)
    for i in range(s * BLOCK, N * HW, SPLITS * BLOCK):
        o = i + tl.arange(0, BLOCK)
        v = tl.load(x + (o // HW) * C * HW + c * HW + o % HW, mask=o < N * HW, other=0.0)
        a += v
        b += v * v
    tl.store(p1 + c * SPLITS + s, tl.sum(a, 0))
    tl.store(p2 + c * SPLITS + s, tl.sum(b, 0))


@triton.jit
def finalize(p1, p2, mean, rstd, total, eps, SPLITS, S: tl.constexpr):
    c = tl.program_id(0)
    s = tl.arange(0, S)
    a = tl.sum(tl.load(p1 + c * SPLITS + s, mask=s < SPLITS, other=0.0), 0) / total
    b = tl.sum(tl.load(p2 + c * SPLITS + s, mask=s < SPLITS, other=0.0), 0) / total
    tl.store(mean + c, a)
    tl.store(rstd + c, 1.0 / tl.sqrt(b - a * a + eps))


@triton.jit
def apply(x, y, mean, rstd, g, b, C, HW, total, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < total
    c = (o // HW) % C
    v = tl.load(x + o, mask=m, other=0.0)
    scale = tl.load(rstd + c, mask=m, other=0.0) * tl.load(g + c, mask=m, other=0.0)
    tl.store(y + o, (v - tl.load(mean + c, mask=m, other=0.0)) * scale + tl.load(b + c, mask=m, other=0.0), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = nn.Parameter(torch.ones(6))
        self.b = nn.Parameter(torch.zeros(6))

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        p = torch.empty(2, c, 8, device=x.device)
        stats = torch.empty(2, c, device=x.device)
        y = torch.empty_like(x)
        partial_sums[(c, 8)](x, p[0], p[1], n, c, h * w, 8, BLOCK=256)
        finalize[(c,)](p[0], p[1], stats[0], stats[1], n * h * w, 1e-5, 8, S=8)
        apply[(triton.cdiv(x.numel(), 512),)](x, y, stats[0], stats[1], self.g, self.b, c, h * w, x.numel(), BLOCK=512)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 6, 9, 10)]
