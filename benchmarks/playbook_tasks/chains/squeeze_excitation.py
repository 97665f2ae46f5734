"""Channels weighted by what the whole image says."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, reduced: int):
        super().__init__()
        self.reduce, self.expand = nn.Linear(channels, reduced), nn.Linear(reduced, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = torch.sigmoid(self.expand(torch.relu(self.reduce(x.mean(dim=(2, 3))))))
        return x * weights[:, :, None, None]


batch_size = 64
channels = 256
reduced = 32
height = 64
width = 64


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, reduced]
