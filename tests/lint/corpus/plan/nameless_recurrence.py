# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: grid-batch-only, no-tensor-core, scalar-vector-loop
import torch
import torch.nn as nn
import triton as tr
import triton.language as q


@tr.jit
def k0(p0, p1, p2, p3, n0, n1, n2, C0: q.constexpr):
    a = q.program_id(1)
    b = q.program_id(0) * C0 + q.arange(0, C0)
    e = b < n2
    f = q.load(p2 + b, mask=e, other=0.0)
    u = q.zeros((C0,), q.float32)
    v = q.zeros((C0,), q.float32)
    for i in range(n0):
        s = (a * n0 + i) * n2 + b
        w = q.load(p0 + s, mask=e, other=0.0)
        z = q.load(p1 + s, mask=e, other=0.0)
        y = 1.0 / (1.0 + q.exp(-z - f * v))
        u = y * u + (1.0 - y) * w
        v = q.where(u > 0.0, u, 0.1 * u)
        q.store(p3 + s, v, mask=e)


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.r = nn.Parameter(torch.randn(n))

    def forward(self, a, b):
        g, i, n = a.shape
        a, b = a.contiguous(), b.contiguous()
        o = torch.empty_like(a)
        k0[(tr.cdiv(n, 64), g)](a, b, self.r, o, i, g, n, 64)
        return o


def get_init_inputs():
    return [100]


def get_inputs():
    return [torch.randn(3, 8, 100), torch.randn(3, 8, 100)]
