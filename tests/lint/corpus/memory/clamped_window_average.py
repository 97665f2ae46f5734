# kernel_type: reduction
# complexity: medium
# outcome: works
# near: missing-mask
"""Moving average along time; positions before the first and after the last step repeat the border."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def smooth(series, smoothed, steps, half, STEPS_PER_BLOCK: tl.constexpr):
    lane = tl.program_id(1)
    at = tl.program_id(0) * STEPS_PER_BLOCK + tl.arange(0, STEPS_PER_BLOCK)
    base = series + lane * steps
    total = tl.zeros((STEPS_PER_BLOCK,), tl.float32)
    for shift in range(-half, half + 1):
        near = tl.minimum(tl.maximum(at + shift, 0), steps - 1)
        total += tl.load(base + near)
    count = 2 * half + 1
    tl.store(smoothed + lane * steps + at, total / count, mask=at < steps)


class ModelNew(nn.Module):
    def __init__(self, half):
        super().__init__()
        self.half = half

    def forward(self, series):
        series = series.contiguous()
        lanes, steps = series.shape
        smoothed = torch.empty_like(series)
        grid = (triton.cdiv(steps, 256), lanes)
        smooth[grid](series, smoothed, steps, self.half, STEPS_PER_BLOCK=256)
        return smoothed


def get_init_inputs():
    return [3]


def get_inputs():
    return [torch.randn(5, 700)]
