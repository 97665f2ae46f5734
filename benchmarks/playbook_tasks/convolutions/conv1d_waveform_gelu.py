"""The first layer of a speech encoder: raw samples, a long stride, gelu."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv1d(1, channels, 10, stride=5, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.conv(x.unsqueeze(1)))


batch_size = 8
samples = 160000
channels = 512


def get_inputs():
    return [torch.randn(batch_size, samples)]


def get_init_inputs():
    return [channels]
