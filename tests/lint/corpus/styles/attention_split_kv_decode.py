# kernel_type: attention
# complexity: high
# outcome: works
# near: unsafe-exp, no-tensor-core, output-not-written, grid-coverage
"""Decoding: one query per sequence, keys split over programs, a second kernel combines the parts. No tl.dot."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode_part(Q, K, V, PART, LSE, T, scale, chunk, SPLITS: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    bh = tl.program_id(0)
    split = tl.program_id(1)
    d = tl.arange(0, D)
    q = tl.load(Q + bh * D + d).to(tl.float32) * scale
    m = -float("inf")
    s = 0.0
    acc = tl.zeros((D,), tl.float32)
    begin = split * chunk
    end = tl.minimum(begin + chunk, T)
    for t0 in range(begin, end, BN):
        t = t0 + tl.arange(0, BN)
        at = (bh * T + t[:, None]) * D + d[None, :]
        live = t[:, None] < end
        k = tl.load(K + at, mask=live, other=0.0).to(tl.float32)
        score = tl.sum(q[None, :] * k, axis=1)
        score = tl.where(t < end, score, -float("inf"))
        top = tl.maximum(m, tl.max(score, axis=0))
        fade = tl.exp(m - top)
        p = tl.exp(score - top)
        v = tl.load(V + at, mask=live, other=0.0).to(tl.float32)
        acc = acc * fade + tl.sum(p[:, None] * v, axis=0)
        s = s * fade + tl.sum(p, axis=0)
        m = top
    slot = bh * SPLITS + split
    safe = tl.maximum(s, 1e-30)
    tl.store(PART + slot * D + d, acc / safe)
    tl.store(LSE + slot, m + tl.log(safe))


@triton.jit
def decode_combine(PART, LSE, O, SPLITS: tl.constexpr, D: tl.constexpr):
    bh = tl.program_id(0)
    i = tl.arange(0, SPLITS)
    d = tl.arange(0, D)
    lse = tl.load(LSE + bh * SPLITS + i)
    w = tl.exp(lse - tl.max(lse, axis=0))
    w = w / tl.sum(w, axis=0)
    part = tl.load(PART + (bh * SPLITS + i[:, None]) * D + d[None, :])
    tl.store(O + bh * D + d, tl.sum(part * w[:, None], axis=0))


class ModelNew(nn.Module):
    SPLITS = 8

    def forward(self, q, k, v):
        b, h, t, d = k.shape
        assert d == triton.next_power_of_2(d)
        part = q.new_empty(b * h, self.SPLITS, d, dtype=torch.float32)
        lse = q.new_empty(b * h, self.SPLITS, dtype=torch.float32)
        out = torch.empty_like(q)
        chunk = triton.cdiv(t, self.SPLITS)
        decode_part[(b * h, self.SPLITS)](
            q.contiguous(), k.contiguous(), v.contiguous(), part, lse, t, d**-0.5, chunk,
            SPLITS=self.SPLITS, D=d, BN=32,
        )
        decode_combine[(b * h,)](part, lse, out, SPLITS=self.SPLITS, D=d)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 1, 64), torch.randn(2, 3, 300, 64), torch.randn(2, 3, 300, 64)]
