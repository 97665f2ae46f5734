# kernel_type: elementwise
# complexity: low
# outcome: works
"""Batch norm with running statistics, then ReLU: a scale and a shift per channel, no statistic of the data."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bn_relu(x, mean, var, weight, bias, y, C, HW, eps, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    c = plane % C
    inv = tl.rsqrt(tl.load(var + c) + eps)
    scale = tl.load(weight + c) * inv
    shift = tl.load(bias + c) - tl.load(mean + c) * scale
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = i < HW
    v = tl.load(x + plane * HW + i, mask=inside, other=0.0)
    tl.store(y + plane * HW + i, tl.maximum(v * scale + shift, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)
        self.eval()

    def forward(self, x):
        n, c, h, w = x.shape
        x = x.contiguous()
        y = torch.empty_like(x)
        bn = self.bn
        bn_relu[(n * c, triton.cdiv(h * w, 256))](
            x, bn.running_mean, bn.running_var, bn.weight, bn.bias, y, c, h * w, bn.eps, BLOCK=256
        )
        return y


def get_init_inputs():
    return [5]


def get_inputs():
    return [torch.randn(2, 5, 20, 21)]
