# kernel_type: attention
# complexity: high
# outcome: works
# near: unsafe-exp, missing-mask, missing-other
"""Flash attention whose inner loop is a jit function called twice: the full blocks, then the diagonal one."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _inner(acc, l_i, m_i, q, k_base, v_base, lo, hi, offs_m, T, stride, qk_scale,
           DIAGONAL: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    for start in range(lo, hi, BN):
        offs_n = start + tl.arange(0, BN)
        d = tl.arange(0, D)
        k = tl.load(k_base + offs_n[None, :] * stride + d[:, None], mask=offs_n[None, :] < T, other=0.0)
        qk = tl.dot(q, k) * qk_scale
        keep = offs_n[None, :] < T
        if DIAGONAL:
            keep = keep & (offs_m[:, None] >= offs_n[None, :])
        qk = tl.where(keep, qk, -1.0e6)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_base + offs_n[:, None] * stride + d[None, :], mask=offs_n[:, None] < T, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_new
    return acc, l_i, m_i


@triton.jit
def _attn_fwd(Q, K, V, O, T, stride_h, stride_t, sm_scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    start_m = tl.program_id(0) * BM
    offs_m = start_m + tl.arange(0, BM)
    d = tl.arange(0, D)
    base = head * stride_h
    q = tl.load(Q + base + offs_m[:, None] * stride_t + d[None, :], mask=offs_m[:, None] < T, other=0.0)
    m_i = tl.full((BM,), -float("inf"), tl.float32)
    l_i = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    scale = sm_scale * 1.44269504
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K + base, V + base, 0, start_m, offs_m, T, stride_t, scale, False, D, BN)
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K + base, V + base, start_m, start_m + BM, offs_m, T, stride_t, scale, True, D, BN)
    acc = acc / l_i[:, None]
    tl.store(O + base + offs_m[:, None] * stride_t + d[None, :], acc.to(O.dtype.element_ty), mask=offs_m[:, None] < T)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        q, k, v = (t.half().contiguous() for t in (q, k, v))
        b, h, t, d = q.shape
        assert d in {16, 32, 64, 128}
        o = torch.empty_like(q)
        _attn_fwd[(triton.cdiv(t, 64), b * h)](
            q, k, v, o, t, q.stride(1), q.stride(2), d**-0.5, D=d, BM=64, BN=32, num_warps=4, num_stages=2
        )
        return o


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1, 2, 100, 32) for _ in range(3)]
