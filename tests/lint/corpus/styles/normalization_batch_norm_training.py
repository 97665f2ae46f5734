# kernel_type: normalization
# complexity: medium
# outcome: works
# near: output-not-written
"""Batch norm with batch statistics in two kernels: per-channel moments, then scale and shift."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def channel_moments(x_ptr, mean_ptr, rstd_ptr, N, C, HW, eps, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    square = tl.zeros([BLOCK], tl.float32)
    count = N * HW
    for start in range(0, count, BLOCK):
        i = start + tl.arange(0, BLOCK)
        at = (i // HW) * C * HW + c * HW + i % HW
        x = tl.load(x_ptr + at, mask=i < count, other=0.0)
        total += x
        square += x * x
    mean = tl.sum(total, 0) / count
    var = tl.sum(square, 0) / count - mean * mean
    tl.store(mean_ptr + c, mean)
    tl.store(rstd_ptr + c, 1.0 / tl.sqrt(var + eps))


@triton.jit
def apply_moments(x_ptr, mean_ptr, rstd_ptr, w_ptr, b_ptr, y_ptr, C, HW, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    c = plane % C
    a = tl.load(rstd_ptr + c) * tl.load(w_ptr + c)
    b = tl.load(b_ptr + c) - tl.load(mean_ptr + c) * a
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + plane * HW + i, mask=i < HW)
    tl.store(y_ptr + plane * HW + i, x * a + b, mask=i < HW)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        mean, rstd = torch.empty(2, c, device=x.device).unbind(0)
        channel_moments[(c,)](x, mean, rstd, n, c, h * w, self.eps, BLOCK=1024)
        y = torch.empty_like(x)
        apply_moments[(n * c, triton.cdiv(h * w, 512))](
            x, mean, rstd, self.weight, self.bias, y, c, h * w, BLOCK=512
        )
        return y


def get_init_inputs():
    return [7]


def get_inputs():
    return [torch.randn(4, 7, 13, 14)]
