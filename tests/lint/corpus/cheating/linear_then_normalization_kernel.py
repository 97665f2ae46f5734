# kernel_type: hybrid
# complexity: low
# outcome: works
# near: torch-does-the-work, decoy-kernel, reference-imported, cached-output
"""cuBLAS for the two products; the kernel does layer norm, GELU and the residual, each row read once."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


class Model(nn.Module):
    """The task, kept for comparison."""

    def __init__(self, dim):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.LayerNorm(dim)

    def forward(self, x):
        return self.b(x + F.gelu(self.norm(self.a(x))))


@triton.jit
def norm_gelu_add(H, X, W, B, Y, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = c < cols
    h = tl.load(H + row * cols + c, mask=ok, other=0.0)
    mean = tl.sum(h, 0) / cols
    d = tl.where(ok, h - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, 0) / cols + eps)
    z = d * rstd * tl.load(W + c, mask=ok, other=0.0) + tl.load(B + c, mask=ok, other=0.0)
    z = 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476))
    tl.store(Y + row * cols + c, z + tl.load(X + row * cols + c, mask=ok, other=0.0), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.LayerNorm(dim)

    def forward(self, x):
        x = x.contiguous()
        h = self.a(x)
        y = torch.empty_like(x)
        rows, cols = x.shape
        norm_gelu_add[(rows,)](
            h, x, self.norm.weight, self.norm.bias, y, cols, self.norm.eps, BLOCK=triton.next_power_of_2(cols)
        )
        return self.b(y)


def get_init_inputs():
    return [48]


def get_inputs():
    return [torch.randn(9, 48)]


if __name__ == "__main__":
    x = torch.randn(9, 48, device="cuda")
    print((Model(48).cuda()(x) - ModelNew(48).cuda()(x)).abs().max())
