"""A convolution of clips in half precision, relu and max pooling over space."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv3d(channels, out_channels, 3, padding=1, dtype=torch.float16)
        self.pool = nn.MaxPool3d((1, 2, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(F.relu(self.conv(x)))


batch_size = 8
channels = 64
out_channels = 128
frames = 16
height = 56
width = 56


def get_inputs():
    return [torch.randn(batch_size, channels, frames, height, width, dtype=torch.float16)]


def get_init_inputs():
    return [channels, out_channels]
