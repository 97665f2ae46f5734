# kernel_type: reduction
# complexity: low
# outcome: works
"""Weighted negative log likelihood; the weight of a class is no matrix."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weighted_nll(x, t, wt, out, rows, C: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.arange(0, C)
    ok = r < rows
    v = tl.load(x + r[:, None] * C + c[None, :], mask=ok[:, None], other=0.0)
    top = tl.max(v, 1)
    lse = tl.log(tl.sum(tl.exp(v - top[:, None]), 1)) + top
    label = tl.load(t + r, mask=ok, other=0)
    mine = tl.load(x + r * C + label, mask=ok, other=0.0)
    w = tl.load(wt + label, mask=ok, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(tl.where(ok, (lse - mine) * w, 0.0), 0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.rand(16))

    def forward(self, x, t):
        rows = x.shape[0]
        out = torch.empty(triton.cdiv(rows, 32), device=x.device)
        weighted_nll[(triton.cdiv(rows, 32),)](x.contiguous(), t, self.w, out, rows, C=16, B=32)
        return out.sum() / rows


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(70, 16), torch.randint(0, 16, (70,))]
