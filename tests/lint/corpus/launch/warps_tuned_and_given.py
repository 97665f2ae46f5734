# kernel_type: normalization
# complexity: low
# outcome: fails
import torch
import triton
import triton.language as tl
from torch import nn

CONFIGS = [triton.Config({}, num_warps=w, num_stages=s) for w in (2, 4, 8) for s in (1, 2)]


@triton.autotune(configs=CONFIGS, key=["D"])
@triton.jit
def rms(X, W, Y, stride, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + d, mask=d < D, other=0.0)
    inv = tl.rsqrt(tl.sum(x * x, 0) / D + eps)
    w = tl.load(W + d, mask=d < D, other=0.0)
    tl.store(Y + row * stride + d, x * inv * w, mask=d < D)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        y = torch.empty_like(x)
        rows, dim = x.shape
        rms[(rows,)](x, self.weight, y, x.stride(0), dim, 1e-5, BLOCK=triton.next_power_of_2(dim), num_warps=8)  #! meta-parameter-twice
        return y


def get_init_inputs():
    return [100]


def get_inputs():
    return [torch.randn(12, 100)]
