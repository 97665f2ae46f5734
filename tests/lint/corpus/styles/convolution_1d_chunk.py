# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution
"""Dilated 1-D convolution: taps as the outer loop, channels by dot, block names of a stranger."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k0(p0, p1, p2, n0, n1, n2, n3, s0, C0: tl.constexpr, C1: tl.constexpr, C2: tl.constexpr, C3: tl.constexpr):
    b0 = tl.program_id(2)
    v0 = tl.program_id(0) * C0 + tl.arange(0, C0)
    v1 = tl.program_id(1) * C1 + tl.arange(0, C1)
    r = tl.zeros((C1, C0), tl.float32)
    for j in range(C3):
        q = v0 + j * s0
        for i in range(0, n1, C2):
            v2 = i + tl.arange(0, C2)
            u = tl.load(p1 + v1[:, None] * (n1 * C3) + v2[None, :] * C3 + j, mask=(v1[:, None] < n2) & (v2[None, :] < n1), other=0.0)
            w = tl.load(p0 + (b0 * n1 + v2[:, None]) * n0 + q[None, :], mask=(v2[:, None] < n1) & (q[None, :] < n0), other=0.0)
            r += tl.dot(u.to(tl.bfloat16), w.to(tl.bfloat16))
    tl.store(p2 + (b0 * n2 + v1[:, None]) * n3 + v0[None, :], r, mask=(v1[:, None] < n2) & (v0[None, :] < n3))


class ModelNew(nn.Module):
    def __init__(self, a, b, k, d):
        super().__init__()
        self.c = nn.Conv1d(a, b, k, dilation=d, bias=False)

    def forward(self, x):
        n, a, length = x.shape
        w = self.c.weight
        b, k, d = w.shape[0], w.shape[2], self.c.dilation[0]
        out_length = length - d * (k - 1)
        y = torch.empty(n, b, out_length, device=x.device)
        k0[(triton.cdiv(out_length, 64), triton.cdiv(b, 32), n)](
            x.contiguous(), w, y, length, a, b, out_length, d, C0=64, C1=32, C2=16, C3=k
        )
        return y


def get_init_inputs():
    return [12, 20, 3, 2]


def get_inputs():
    return [torch.randn(2, 12, 100)]
