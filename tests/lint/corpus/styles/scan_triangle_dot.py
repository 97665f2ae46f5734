# kernel_type: scan
# complexity: high
# outcome: works
"""Prefix sums as a triangle of ones times the data; the dot is no matrix product."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def prefix_by_dot(x, y, T, D, BT: tl.constexpr, BD: tl.constexpr):
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    t = tl.arange(0, BT)
    lower = (t[:, None] >= t[None, :]).to(tl.float32)
    before = tl.zeros((BD,), tl.float32)
    for t0 in range(0, T, BT):
        at = (t0 + t)[:, None] * D + d[None, :]
        ok = (t0 + t < T)[:, None] & (d < D)[None, :]
        v = tl.load(x + at, mask=ok, other=0.0)
        tl.store(y + at, tl.dot(lower, v, input_precision="ieee") + before[None, :], mask=ok)
        before += tl.sum(v, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        prefix_by_dot[(triton.cdiv(x.shape[1], 32),)](x, y, x.shape[0], x.shape[1], BT=32, BD=32)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(100, 40)]
