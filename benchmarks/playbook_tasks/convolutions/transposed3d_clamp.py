"""A transposed convolution of volumes, scaled and clamped."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int, scale: float):
        super().__init__()
        self.up = nn.ConvTranspose3d(channels, out_channels, 3, stride=2, padding=1, output_padding=1)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(self.up(x) * self.scale, min=0.0, max=1.0)


batch_size = 8
channels = 32
out_channels = 16
depth = 24
height = 48
width = 48
scale = 2.0


def get_inputs():
    return [torch.randn(batch_size, channels, depth, height, width)]


def get_init_inputs():
    return [channels, out_channels, scale]
