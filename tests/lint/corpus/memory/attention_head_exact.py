# kernel_type: attention
# complexity: high
# outcome: works
# near: missing-mask, missing-other, unsafe-exp, tf32-implicit, low-precision-accumulator
"""Causal flash attention. The head dimension is a compile-time constant that the tile covers exactly."""
import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _attend(
    Q, K, V, O,
    s_qb, s_qh, s_qt, s_kb, s_kh, s_kt, s_vb, s_vh, s_vt, s_ob, s_oh, s_ot,
    H, T, scale,
    HEAD: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_KV: tl.constexpr,
):
    start = tl.program_id(0) * BLOCK_Q
    bh = tl.program_id(1)
    b = (bh // H).to(tl.int64)
    h = (bh % H).to(tl.int64)
    tq = start + tl.arange(0, BLOCK_Q)
    tk = tl.arange(0, BLOCK_KV)
    d = tl.arange(0, HEAD)

    q = tl.load(Q + b * s_qb + h * s_qh + tq[:, None] * s_qt + d[None, :], mask=tq[:, None] < T, other=0.0)
    q = (q * scale * 1.44269504).to(tl.float16)
    m = tl.full([BLOCK_Q], float("-inf"), dtype=tl.float32)
    l = tl.zeros([BLOCK_Q], dtype=tl.float32)
    acc = tl.zeros([BLOCK_Q, HEAD], dtype=tl.float32)
    k_base = K + b * s_kb + h * s_kh
    v_base = V + b * s_vb + h * s_vh
    for lo in range(0, start + BLOCK_Q, BLOCK_KV):
        cols = lo + tk
        k = tl.load(k_base + cols[None, :] * s_kt + d[:, None], mask=cols[None, :] < T, other=0.0)
        s = tl.dot(q, k.to(tl.float16))
        s = tl.where((tq[:, None] >= cols[None, :]) & (cols[None, :] < T), s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_base + cols[:, None] * s_vt + d[None, :], mask=cols[:, None] < T, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), v.to(tl.float16))
        m = m_new
    acc = acc / l[:, None]
    tl.store(O + b * s_ob + h * s_oh + tq[:, None] * s_ot + d[None, :], acc, mask=tq[:, None] < T)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        B, H, T, D = q.shape
        assert D in (16, 32, 64, 128)
        assert q.stride(-1) == 1 and k.stride(-1) == 1 and v.stride(-1) == 1
        o = torch.empty(B, H, T, D, device=q.device, dtype=torch.float32)
        grid = (triton.cdiv(T, 64), B * H)
        _attend[grid](
            q, k, v, o,
            q.stride(0), q.stride(1), q.stride(2),
            k.stride(0), k.stride(1), k.stride(2),
            v.stride(0), v.stride(1), v.stride(2),
            o.stride(0), o.stride(1), o.stride(2),
            H, T, 1.0 / math.sqrt(D),
            HEAD=D, BLOCK_Q=64, BLOCK_KV=32,
        )
        return o


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 70, 32) for _ in range(3)]
