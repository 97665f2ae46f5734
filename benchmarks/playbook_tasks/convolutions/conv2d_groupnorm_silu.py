"""Group norm, silu and a convolution with the embedding of the time added, as in a diffusion model."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int, groups: int, embedding: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        self.conv = nn.Conv2d(channels, out_channels, 3, padding=1)
        self.time = nn.Linear(embedding, out_channels)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        hidden = self.conv(F.silu(self.norm(x)))
        return hidden + self.time(F.silu(time))[:, :, None, None]


batch_size = 8
channels = 320
out_channels = 320
groups = 32
embedding = 1280
height = 64
width = 64


def get_inputs():
    return [torch.randn(batch_size, channels, height, width), torch.randn(batch_size, embedding)]


def get_init_inputs():
    return [channels, out_channels, groups, embedding]
