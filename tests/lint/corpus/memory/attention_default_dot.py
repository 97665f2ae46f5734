# kernel_type: attention
# complexity: high
# outcome: works
# near: missing-mask, missing-other, unsafe-exp, stride-reuse
"""Softmax attention for short sequences: all keys in one tile."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def small_attention(q, k, v, o, T, scale, D: tl.constexpr, DP: tl.constexpr, BT: tl.constexpr, BQ: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * T * D
    i = tl.program_id(0) * BQ + tl.arange(0, BQ)
    j = tl.arange(0, BT)
    d = tl.arange(0, DP)
    d_ok = d < D
    q_ok = (i < T)[:, None] & d_ok[None, :]
    kv_ok = (j < T)[:, None] & d_ok[None, :]
    qs = tl.load(q + base + i[:, None] * D + d[None, :], mask=q_ok, other=0.0)
    ks = tl.load(k + base + j[:, None] * D + d[None, :], mask=kv_ok, other=0.0)
    vs = tl.load(v + base + j[:, None] * D + d[None, :], mask=kv_ok, other=0.0)
    s = tl.dot(qs, tl.trans(ks)) * scale  #! tf32-implicit
    s = tl.where((j < T)[None, :], s, -float("inf"))
    s = tl.exp(s - tl.max(s, axis=1)[:, None])
    s = s / tl.sum(s, axis=1)[:, None]
    tl.store(o + base + i[:, None] * D + d[None, :], tl.dot(s, vs), mask=q_ok)  #! tf32-implicit


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        B, H, T, D = q.shape
        o = torch.empty_like(q)
        grid = (triton.cdiv(T, 16), B * H)
        small_attention[grid](q, k, v, o, T, D**-0.5, D=D, DP=max(16, triton.next_power_of_2(D)),
                              BT=max(16, triton.next_power_of_2(T)), BQ=16)
        return o


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1, 2, 50, 40) for _ in range(3)]
