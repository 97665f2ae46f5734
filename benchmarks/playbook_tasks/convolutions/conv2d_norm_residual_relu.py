"""The end of a residual block: convolution, batch norm, the shortcut, relu."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.eval()

    def forward(self, x: torch.Tensor, shortcut: torch.Tensor) -> torch.Tensor:
        return F.relu(self.norm(self.conv(x)) + shortcut)


batch_size = 64
channels = 64
height = 56
width = 56


def get_inputs():
    return [torch.randn(batch_size, channels, height, width), torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels]
