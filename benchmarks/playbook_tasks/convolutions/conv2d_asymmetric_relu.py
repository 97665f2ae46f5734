"""A 7x7 convolution as a row and a column, as in later Inception networks."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.row = nn.Conv2d(channels, channels, (1, 7), padding=(0, 3))
        self.column = nn.Conv2d(channels, out_channels, (7, 1), padding=(3, 0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.column(F.relu(self.row(x))))


batch_size = 128
channels = 128
out_channels = 192
size = 17


def get_inputs():
    return [torch.randn(batch_size, channels, size, size)]


def get_init_inputs():
    return [channels, out_channels]
