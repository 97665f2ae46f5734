# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Rotary embedding. Half of a compile-time size, kept in a plain name, is a run-time value."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rope_kernel(q, cos, sin, out, seq_len, n_heads, HEAD_DIM: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    HALF = HEAD_DIM // 2
    idx = tl.arange(0, HALF)  #! arange-runtime-bound
    pos = token % seq_len
    c = tl.load(cos + pos * HALF + idx)
    s = tl.load(sin + pos * HALF + idx)
    base = (token * n_heads + head) * HEAD_DIM
    a = tl.load(q + base + idx)
    b = tl.load(q + base + HALF + idx)
    tl.store(out + base + idx, a * c - b * s)
    tl.store(out + base + HALF + idx, b * c + a * s)


class ModelNew(nn.Module):
    def __init__(self, head_dim=64):
        super().__init__()
        self.head_dim = head_dim

    def forward(self, q, cos, sin):
        q, cos, sin = q.contiguous(), cos.contiguous(), sin.contiguous()
        batch, seq, heads, dim = q.shape
        assert dim == 64 and self.head_dim == 64
        out = torch.empty_like(q)
        rope_kernel[(batch * seq, heads)](q, cos, sin, out, seq, heads, HEAD_DIM=64, num_warps=1)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 6, 4, 64), torch.randn(6, 32), torch.randn(6, 32)]
