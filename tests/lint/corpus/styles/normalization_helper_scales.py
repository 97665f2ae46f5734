# kernel_type: normalization
# complexity: low
# outcome: works
"""The scaling itself happens in a function that gets the row and its statistic."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def finish(value, inverse, gain):
    return value * inverse * gain


@triton.jit
def rms(x, g, y, n, eps, B: tl.constexpr):
    o = tl.arange(0, B)
    k = o < n
    v = tl.load(x + tl.program_id(0) * n + o, mask=k, other=0.0)
    power = tl.sum(v * v, axis=0) / n
    tl.store(y + tl.program_id(0) * n + o, finish(v, gain=tl.load(g + o, mask=k, other=0.0), inverse=tl.rsqrt(power + eps)), mask=k)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(100))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rms[(x.shape[0],)](x, self.gain, y, x.shape[1], 1e-6, B=triton.next_power_of_2(x.shape[1]))
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 100)]
