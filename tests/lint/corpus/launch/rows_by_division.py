# kernel_type: normalization
# complexity: low
# outcome: works
# near: grid-coverage
"""`//` that counts rows or heads is no tile count."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def l2_normalize(X, Y, D, eps, BLOCK_D: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    keep = d < D
    x = tl.load(X + row * D + d, mask=keep, other=0.0).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, axis=0) + eps)
    tl.store(Y + row * D + d, x / norm, mask=keep)


@triton.jit
def head_scale(Q, S, OUT, T, D, GROUP, BLOCK_D: tl.constexpr):
    kv, g, t = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    head = kv * GROUP + g
    d = tl.arange(0, BLOCK_D)
    keep = d < D
    at = (head * T + t) * D + d
    s = tl.load(S + kv)
    tl.store(OUT + at, tl.load(Q + at, mask=keep) * s, mask=keep)


class ModelNew(nn.Module):
    def __init__(self, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.scale = nn.Parameter(torch.ones(kv_heads))

    def forward(self, q):
        q = q.contiguous()
        dim = q.shape[-1]
        rows = q.numel() // dim
        block = triton.next_power_of_2(dim)
        unit = torch.empty_like(q)
        l2_normalize[(rows,)](q, unit, dim, 1e-6, BLOCK_D=block)
        out = torch.empty_like(q)
        tokens = q.shape[1]
        group = self.heads // self.kv_heads
        head_scale[(self.kv_heads, group, tokens)](unit, self.scale, out, tokens, dim, group, BLOCK_D=block)
        return out


def get_init_inputs():
    return [8, 2]


def get_inputs():
    return [torch.randn(8, 5, 24)]
