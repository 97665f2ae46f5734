"""Each program holds a tile of all channels by some pixels in registers."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(
    x_ptr, y_ptr, channels, pixels, blocks, eps, CHANNEL_BLOCK: tl.constexpr, PIXEL_BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    image = (program // blocks).to(tl.int64)
    pixel = (program % blocks) * PIXEL_BLOCK + tl.arange(0, PIXEL_BLOCK)
    channel = tl.arange(0, CHANNEL_BLOCK)
    offsets = (image * channels + channel[:, None]) * pixels + pixel[None, :]
    mask = (channel < channels)[:, None] & (pixel < pixels)[None, :]
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    rms = tl.sqrt(tl.sum(x * x, axis=0) / channels + eps)
    tl.store(y_ptr + offsets, x / rms[None, :], mask=mask)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        batch, channels, height, width = x.shape
        pixels = height * width
        blocks = triton.cdiv(pixels, 128)
        rms_norm_kernel[(batch * blocks,)](
            x,
            y,
            channels,
            pixels,
            blocks,
            self.eps,
            CHANNEL_BLOCK=triton.next_power_of_2(channels),
            PIXEL_BLOCK=128,
            num_warps=8,
        )
        return y
