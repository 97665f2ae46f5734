# kernel_type: attention
# complexity: high
# outcome: works
# near: tf32-implicit, missing-mask, low-precision-accumulator
"""Attention over a few keys, weights exp(score) / sum(exp(score)), in one pass."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, t, scale, D: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * t * D
    i = tl.program_id(0) * BQ + tl.arange(0, BQ)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head + i[:, None] * D + d[None, :], mask=i[:, None] < t, other=0.0)
    acc = tl.zeros((BQ, D), tl.float32)
    den = tl.zeros((BQ,), tl.float32)
    for start in range(0, t, BK):
        j = start + tl.arange(0, BK)
        here = j < t
        k = tl.load(k_ptr + head + j[:, None] * D + d[None, :], mask=here[:, None], other=0.0)
        v = tl.load(v_ptr + head + j[:, None] * D + d[None, :], mask=here[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        w = tl.exp(s)  #! unsafe-exp
        w = tl.where(here[None, :], w, 0.0)
        den += tl.sum(w, axis=1)
        acc += tl.dot(w, v, input_precision="ieee")
    tl.store(o_ptr + head + i[:, None] * D + d[None, :], acc / den[:, None], mask=i[:, None] < t)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        q, k, v = (z.contiguous() for z in (q, k, v))
        b, h, t, d = q.shape
        o = torch.empty_like(q)
        attend[(triton.cdiv(t, 32), b * h)](q, k, v, o, t, d ** -0.5, D=d, BQ=32, BK=32)
        return o


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1, 2, 45, 64) for _ in range(3)]
