"""Each program takes a block of one channel of one image, so that its bias is a single number."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky_relu_gelu_bias_kernel(
    x_ptr, bias_ptr, y_ptr, channels, pixels, blocks, negative_slope, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    plane = program // blocks
    pixel = (program % blocks) * BLOCK + tl.arange(0, BLOCK)
    offsets = plane.to(tl.int64) * pixels + pixel
    mask = pixel < pixels
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    x = tl.where(x > 0, x, x * negative_slope)
    x = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(y_ptr + offsets, x + tl.load(bias_ptr + plane % channels), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, negative_slope):
        super().__init__()
        self.negative_slope = negative_slope
        self.bias = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        batch, channels, height, width = x.shape
        pixels = height * width
        blocks = triton.cdiv(pixels, 4096)
        leaky_relu_gelu_bias_kernel[(batch * channels * blocks,)](
            x, self.bias, y, channels, pixels, blocks, self.negative_slope, BLOCK=4096, num_warps=8
        )
        return y
