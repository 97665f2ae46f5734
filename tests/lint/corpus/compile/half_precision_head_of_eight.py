# kernel_type: attention
# complexity: high
# outcome: fails
"""Attention with heads of 8 channels in half precision: the reduction is shorter than any release allows."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tiny_head_attention(Q, K, V, O, seq, scale, T: tl.constexpr):
    bh = tl.program_id(0)
    t = tl.arange(0, T)
    d = tl.arange(0, 8)
    at = bh * seq * 8 + t[:, None] * 8 + d[None, :]
    live = t[:, None] < seq
    q = tl.load(Q + at, mask=live, other=0.0).to(tl.float16)
    k = tl.load(K + at, mask=live, other=0.0).to(tl.float16)
    v = tl.load(V + at, mask=live, other=0.0).to(tl.float16)
    s = tl.dot(q, tl.trans(k)) * scale  #! dot-tile-too-small
    s = tl.where(t[None, :] < seq, s, float("-inf"))
    p = tl.exp(s - tl.max(s, axis=1)[:, None])
    p = p / tl.sum(p, axis=1)[:, None]
    o = tl.dot(p.to(tl.float16), v)  #! dot-tile-too-small
    tl.store(O + at, o, mask=live)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        bh, seq, dim = q.shape
        assert dim == 8 and seq <= 64
        out = torch.empty_like(q)
        tiny_head_attention[(bh,)](q, k, v, out, seq, dim**-0.5, T=64)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 40, 8), torch.randn(4, 40, 8), torch.randn(4, 40, 8)]
