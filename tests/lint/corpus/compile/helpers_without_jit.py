# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Activations chosen in the kernel: a plain function, a nested one, a lambda, membership, Python's abs."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


def leaky(v, slope):
    return tl.where(v > 0, v, v * slope)


@triton.jit
def activation_kernel(x, y, slope, n, MODE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)

    def square(u):  #! python-in-kernel
        return u * u

    twice = lambda u: 2.0 * u  #! python-in-kernel
    if MODE in ("leaky", "lrelu"):  #! python-in-kernel
        v = leaky(v, slope)  #! python-in-kernel
    v = abs(v)  #! python-in-kernel
    table = {"scale": 2.0}  #! python-in-kernel
    try:  #! python-in-kernel
        v = v * 2.0
    except ValueError:
        v = v * 1.0
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, slope, mode="leaky"):
        super().__init__()
        self.slope, self.mode = slope, mode

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        activation_kernel[(triton.cdiv(x.numel(), 256),)](x, y, self.slope, x.numel(), MODE=self.mode, B=256)
        return y


def get_init_inputs():
    return [0.1]


def get_inputs():
    return [torch.randn(500)]
