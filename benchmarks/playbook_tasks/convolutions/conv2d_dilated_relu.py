"""A branch of an atrous pyramid: 3x3 with wide gaps."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int, rate: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, out_channels, 3, padding=rate, dilation=rate)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x))


batch_size = 8
channels = 512
out_channels = 256
height = 64
width = 64
rate = 12


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, out_channels, rate]
