# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: time-loop-on-host, small-launch-count, grid-batch-only
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def smooth(x_ptr, rate_ptr, y_ptr, length, channels, offset, BACK: tl.constexpr, BLOCK: tl.constexpr):
    """Exponential smoothing over time, forwards or backwards."""
    sample = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = c < channels
    rate = tl.sigmoid(tl.load(rate_ptr + c, mask=m, other=0.0))
    if BACK:
        first = length - 1
        step = -1
    else:
        first = 0
        step = 1
    x_at = x_ptr + (sample * length + first) * channels + c
    y_at = y_ptr + (sample * length + first) * 2 * channels + offset + c
    level = tl.load(x_at, mask=m, other=0.0)
    for _ in range(length):
        level += rate * (tl.load(x_at, mask=m, other=0.0) - level)
        tl.store(y_at, level, mask=m)
        x_at += step * channels
        y_at += step * 2 * channels


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.rates = nn.Parameter(torch.randn(2, channels))

    def forward(self, x):
        n, length, channels = x.shape
        y = torch.empty(n, length, 2 * channels, device=x.device, dtype=x.dtype)
        for direction, rate in enumerate(self.rates):
            smooth[(n, triton.cdiv(channels, 32))](
                x.contiguous(), rate, y, length, channels, direction * channels, BACK=direction == 1, BLOCK=32
            )
        return y


def get_init_inputs():
    return [20]


def get_inputs():
    return [torch.randn(3, 8, 20)]
