# kernel_type: elementwise
# complexity: low
# outcome: works
"""Rotary position embedding on q [B, T, H, D], half-split layout, cos/sin [T, D/2]."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _rope(Q, COS, SIN, O, T, H, stride_qb, stride_qt, stride_qh, HALF: tl.constexpr, BLOCK_H: tl.constexpr):
    bt = tl.program_id(0)
    b = bt // T
    t = bt % T
    h = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    d = tl.arange(0, HALF)
    cos = tl.load(COS + t * HALF + d)
    sin = tl.load(SIN + t * HALF + d)
    base = b * stride_qb + t * stride_qt
    first = base + h[:, None] * stride_qh + d[None, :]
    second = first + HALF
    mask = h[:, None] < H
    x1 = tl.load(Q + first, mask=mask, other=0.0)
    x2 = tl.load(Q + second, mask=mask, other=0.0)
    tl.store(O + first, x1 * cos[None, :] - x2 * sin[None, :], mask=mask)
    tl.store(O + second, x2 * cos[None, :] + x1 * sin[None, :], mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim, max_len, base=10000.0):
        super().__init__()
        inv = base ** (-torch.arange(0, dim, 2).float() / dim)
        angles = torch.outer(torch.arange(max_len).float(), inv)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, q):
        q = q.contiguous()
        B, T, H, D = q.shape
        out = torch.empty_like(q)
        _rope[(B * T, triton.cdiv(H, 4))](
            q, self.cos, self.sin, out, T, H, q.stride(0), q.stride(1), q.stride(2), HALF=D // 2, BLOCK_H=4
        )
        return out


def get_init_inputs():
    return [32, 64]


def get_inputs():
    return [torch.randn(2, 9, 6, 32)]
