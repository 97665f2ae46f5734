"""A convolution, clamped, and its mean over the image."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int, low: float, high: float):
        super().__init__()
        self.conv = nn.Conv2d(channels, out_channels, 3)
        self.low, self.high = low, high

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).clamp(self.low, self.high).mean(dim=(2, 3))


batch_size = 64
channels = 64
out_channels = 128
height = 96
width = 96
low = -0.5
high = 1.0


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, out_channels, low, high]
