# kernel_type: attention
# complexity: high
# outcome: fails
"""One-block attention; the host forgot `import math`."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale, seq, T: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    t = tl.arange(0, T)
    d = tl.arange(0, D)
    offs = head * seq * D + t[:, None] * D + d[None, :]
    inside = t[:, None] < seq
    q = tl.load(q_ptr + offs, mask=inside, other=0.0)
    k = tl.load(k_ptr + offs, mask=inside, other=0.0)
    v = tl.load(v_ptr + offs, mask=inside, other=0.0)
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    s = tl.where(t[None, :] < seq, s, float("-inf"))
    p = tl.exp(s - tl.max(s, axis=1)[:, None])
    p = p / tl.sum(p, axis=1)[:, None]
    tl.store(o_ptr + offs, tl.dot(p, v, input_precision="ieee"), mask=inside)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        heads, seq, dim = q.shape
        assert dim == 32
        out = torch.empty_like(q)
        scale = 1.0 / math.sqrt(dim)  #! undefined-name
        attention_kernel[(heads,)](q, k, v, out, scale, seq, T=64, D=32)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 50, 32), torch.randn(2, 50, 32), torch.randn(2, 50, 32)]
