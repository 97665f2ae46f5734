"""The short convolution of a state-space layer: every channel for itself, looking back only."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, kernel_size: int):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, kernel_size, groups=channels, padding=kernel_size - 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = x.shape[1]
        return F.silu(self.conv(x.transpose(1, 2))[:, :, :steps]).transpose(1, 2)


batch_size = 8
steps = 4096
channels = 2048
kernel_size = 4


def get_inputs():
    return [torch.randn(batch_size, steps, channels)]


def get_init_inputs():
    return [channels, kernel_size]
