"""A convolution with a learned scale for each channel, mish and a bias of its own."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, out_channels, 3, padding=1, bias=False)
        self.scale = nn.Parameter(torch.rand(out_channels, 1, 1) + 0.5)
        self.shift = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.mish(self.conv(x) * self.scale + self.shift)


batch_size = 32
channels = 64
out_channels = 128
height = 64
width = 64


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, out_channels]
