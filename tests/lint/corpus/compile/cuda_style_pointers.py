# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Written the way one writes CUDA: pointers with brackets."""
import torch
import torch.nn as nn
import triton
from triton import language as L


@triton.jit
def axpby(A, C, D, alpha, beta, total, WIDTH: L.constexpr):
    i = L.program_id(0) * WIDTH + L.arange(0, WIDTH)
    ok = i < total
    a = L.load(A + i, mask=ok, other=0.0)
    c = C[i]  #! tensor-indexing
    D[i] = alpha * a + beta * c  #! tensor-indexing


class ModelNew(nn.Module):
    def __init__(self, alpha=2.0, beta=0.5):
        super().__init__()
        self.alpha = alpha
        self.beta = beta

    def forward(self, a, c):
        a, c = a.contiguous(), c.contiguous()
        d = torch.empty_like(a)
        n = a.numel()
        axpby[(triton.cdiv(n, 512),)](a, c, d, self.alpha, self.beta, n, WIDTH=512)
        return d


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1000), torch.randn(1000)]
