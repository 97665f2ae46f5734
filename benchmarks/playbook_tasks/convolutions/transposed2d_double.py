"""A transposed convolution that doubles the image without overlap, as in a U-Net, beside its skip."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.up = nn.ConvTranspose2d(channels, out_channels, 2, stride=2)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.up(x), skip], dim=1)


batch_size = 8
channels = 128
out_channels = 64
size = 128


def get_inputs():
    return [
        torch.randn(batch_size, channels, size, size),
        torch.randn(batch_size, out_channels, 2 * size, 2 * size),
    ]


def get_init_inputs():
    return [channels, out_channels]
