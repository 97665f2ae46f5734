# kernel_type: elementwise
# complexity: low
# outcome: works
"""Bias and leaky ReLU; the launch always starts 132 programs, the kernel handles one block each."""
import torch
import triton
from torch import nn
from triton import language as L


@triton.jit
def bias_leaky(x_ptr, bias_ptr, y_ptr, total, width, slope, BLOCK: L.constexpr):
    at = L.program_id(0) * BLOCK + L.arange(0, BLOCK)
    ok = at < total
    value = L.load(x_ptr + at, mask=ok, other=0.0) + L.load(bias_ptr + at % width, mask=ok, other=0.0)
    L.store(y_ptr + at, L.where(value > 0, value, value * slope), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, width, slope):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))
        self.slope = slope

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        bias_leaky[(132,)](x, self.bias, y, x.numel(), x.shape[-1], self.slope, BLOCK=1024)  #! grid-coverage
        return y


def get_init_inputs():
    return [48, 0.1]


def get_inputs():
    return [torch.randn(64, 48)]
