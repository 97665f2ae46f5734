"""The pointwise half of a ConvNeXt block: norm, two linear layers, a learned scale, the residual."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.gamma = nn.Parameter(0.1 * torch.rand(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.gamma * self.down(F.gelu(self.up(self.norm(x))))


batch_size = 32
height = 28
width = 28
channels = 384


def get_inputs():
    return [torch.randn(batch_size, height, width, channels)]


def get_init_inputs():
    return [channels]
