"""A convolution of long sequences with a bias."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int, kernel_size: int):
        super().__init__()
        self.conv = nn.Conv1d(channels, out_channels, kernel_size, padding=kernel_size // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch_size = 16
channels = 64
out_channels = 128
kernel_size = 5
steps = 65536


def get_inputs():
    return [torch.randn(batch_size, channels, steps)]


def get_init_inputs():
    return [channels, out_channels, kernel_size]
