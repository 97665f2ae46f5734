# kernel_type: attention
# complexity: high
# outcome: works
# near: unsafe-exp
"""Short sequences: all keys of a head fit one block, so no loop and no running maximum."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attend(qkv, out, t, heads, scale, T: tl.constexpr, D: tl.constexpr):
    b = tl.program_id(0) // heads
    h = tl.program_id(0) % heads
    i = tl.arange(0, T)
    d = tl.arange(0, D)
    width = heads * D
    at = (b * t + i[:, None]) * 3 * width + h * D + d[None, :]
    live = i[:, None] < t
    q = tl.load(qkv + at, mask=live, other=0.0)
    k = tl.load(qkv + at + width, mask=live, other=0.0)
    v = tl.load(qkv + at + 2 * width, mask=live, other=0.0)
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    s = tl.where(i[None, :] < t, s, float("-inf"))
    s = s - tl.max(s, axis=1)[:, None]
    e = tl.exp(s)
    p = e / tl.sum(e, axis=1)[:, None]
    o = tl.dot(p, v, input_precision="ieee")
    tl.store(out + (b * t + i[:, None]) * width + h * D + d[None, :], o, mask=live)


class ModelNew(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def forward(self, qkv):
        qkv = qkv.contiguous()
        b, t, three = qkv.shape
        width = three // 3
        dim = width // self.heads
        out = qkv.new_empty(b, t, width)
        attend[(b * self.heads,)](
            qkv, out, t, self.heads, dim**-0.5, T=max(16, triton.next_power_of_2(t)), D=dim
        )
        return out


def get_init_inputs():
    return [2]


def get_inputs():
    return [torch.randn(3, 25, 96)]
