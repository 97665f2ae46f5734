# kernel_type: attention
# complexity: high
# outcome: works
# near: low-precision-accumulator, tf32-implicit, unsafe-exp, int32-overflow
"""bfloat16 attention: probabilities are rounded for the second product, everything carried stays in float32."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def flash(q, k, v, o, T, sm_scale, DIM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, OUT: tl.constexpr):
    head = tl.cast(tl.program_id(1), tl.int64) * T * DIM
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    feat = tl.arange(0, DIM)
    row_ok = rows < T
    qb = tl.load(q + head + rows[:, None] * DIM + feat, mask=row_ok[:, None], other=0.0)
    high = tl.full((BM,), -1.0e9, tl.float32)
    norm = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, DIM), tl.float32)
    for n0 in range(0, T, BN):
        cols = n0 + tl.arange(0, BN)
        col_ok = cols < T
        kb = tl.load(k + head + cols[:, None] * DIM + feat, mask=col_ok[:, None], other=0.0)
        s = tl.dot(qb, kb.T).to(tl.float32) * sm_scale
        s = tl.where(col_ok[None, :], s, -1.0e9)
        top = tl.maximum(high, tl.max(s, axis=1))
        p = tl.exp(s - top[:, None])
        fix = tl.exp(high - top)
        vb = tl.load(v + head + cols[:, None] * DIM + feat, mask=col_ok[:, None], other=0.0)
        norm = norm * fix + tl.sum(p, axis=1)
        out = tl.dot(p.to(tl.bfloat16), vb, out * fix[:, None])
        high = top
    out = (out / norm[:, None]).to(OUT)
    tl.store(o + head + rows[:, None] * DIM + feat, out, mask=row_ok[:, None])


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        q, k, v = [part.bfloat16().contiguous() for part in (q, k, v)]
        o = torch.empty_like(q)
        T, DIM = q.shape[-2:]
        heads = q.numel() // (T * DIM)
        flash[(triton.cdiv(T, 64), heads)](q, k, v, o, T, DIM**-0.5, DIM=DIM, BM=64, BN=64, OUT=tl.bfloat16)
        return o


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 2, 100, 64) for _ in range(3)]
