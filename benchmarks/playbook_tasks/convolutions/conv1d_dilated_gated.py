"""The gate of a WaveNet layer: two dilated convolutions that look back only."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, dilation: int):
        super().__init__()
        self.padding = dilation
        self.filter = nn.Conv1d(channels, channels, 2, dilation=dilation)
        self.gate = nn.Conv1d(channels, channels, 2, dilation=dilation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (self.padding, 0))
        return torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))


batch_size = 16
channels = 128
steps = 32768
dilation = 64


def get_inputs():
    return [torch.randn(batch_size, channels, steps)]


def get_init_inputs():
    return [channels, dilation]
