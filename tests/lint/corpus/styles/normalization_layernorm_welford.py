# kernel_type: normalization
# complexity: medium
# outcome: works
"""Layer norm of long rows with per-lane Welford moments, merged by tl.reduce; sqrt instead of rsqrt."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def merge(m1, s1, w1, m2, s2, w2):
    d = m2 - m1
    w = w1 + w2
    r = tl.where(w == 0.0, 0.0, w2 / w)
    return m1 + d * r, s1 + s2 + d * d * w1 * r, w


@triton.jit
def ln_fwd(inp, gamma, beta, res, N, eps, BLK: tl.constexpr):
    row = tl.program_id(0)
    inp += row * N
    res += row * N
    m = tl.zeros((BLK,), tl.float32)
    s = tl.zeros((BLK,), tl.float32)
    w = tl.zeros((BLK,), tl.float32)
    for k in range(0, N, BLK):
        j = k + tl.arange(0, BLK)
        ok = j < N
        x = tl.load(inp + j, mask=ok, other=0.0).to(tl.float32)
        w_new = w + 1.0
        m_new = m + (x - m) / w_new
        s = tl.where(ok, s + (x - m) * (x - m_new), s)
        m = tl.where(ok, m_new, m)
        w = tl.where(ok, w_new, w)
    mu, ss, _ = tl.reduce((m, s, w), 0, merge)
    sd = tl.sqrt(ss / N + eps)
    for k in range(0, N, BLK):
        j = k + tl.arange(0, BLK)
        ok = j < N
        x = tl.load(inp + j, mask=ok, other=0.0).to(tl.float32)
        y = (x - mu) / sd * tl.load(gamma + j, mask=ok, other=0.0) + tl.load(beta + j, mask=ok, other=0.0)
        tl.store(res + j, y, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        y = torch.empty_like(x)
        ln_fwd[(x.shape[0],)](x, self.norm.weight, self.norm.bias, y, x.shape[1], self.norm.eps, BLK=1024)
        return y.view(shape)


def get_init_inputs():
    return [3000]


def get_inputs():
    return [torch.randn(2, 3, 3000)]
