# kernel_type: gemm
# complexity: medium
# outcome: works
# near: tf32-implicit, unsafe-exp
"""Both layers of a small MLP in one kernel: product, SiLU by exp, product. No attention, though it looks related."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mlp(x_ptr, up_ptr, down_ptr, y_ptr, M, D, F, BM: tl.constexpr, BD: tl.constexpr, BF: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    x = tl.load(x_ptr + m[:, None] * D + d[None, :], mask=(m[:, None] < M) & (d[None, :] < D), other=0.0)
    x = x.to(tl.bfloat16)
    out = tl.zeros((BM, BD), tl.float32)
    for f0 in range(0, F, BF):
        f = f0 + tl.arange(0, BF)
        up = tl.load(up_ptr + d[:, None] * F + f[None, :], mask=(d[:, None] < D) & (f[None, :] < F), other=0.0)
        h = tl.dot(x, up.to(tl.bfloat16))
        h = h / (1.0 + tl.exp(-h))
        down = tl.load(down_ptr + f[:, None] * D + d[None, :], mask=(f[:, None] < F) & (d[None, :] < D), other=0.0)
        out = tl.dot(h.to(tl.bfloat16), down.to(tl.bfloat16), out)
    tl.store(y_ptr + m[:, None] * D + d[None, :], out, mask=(m[:, None] < M) & (d[None, :] < D))


class ModelNew(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Parameter(torch.randn(dim, hidden))
        self.down = nn.Parameter(torch.randn(hidden, dim))

    def forward(self, x):
        x = x.contiguous()
        m, d = x.shape
        f = self.up.shape[1]
        y = torch.empty_like(x)
        mlp[(triton.cdiv(m, 32),)](
            x, self.up, self.down, y, m, d, f, BM=32, BD=max(16, triton.next_power_of_2(d)), BF=32
        )
        return y


def get_init_inputs():
    return [48, 96]


def get_inputs():
    return [torch.randn(50, 48)]
