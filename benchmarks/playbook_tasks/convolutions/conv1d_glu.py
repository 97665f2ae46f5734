"""A pointwise convolution with a gated linear unit, as in a Conformer."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv1d(channels, 2 * channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.glu(self.conv(x), dim=1)


batch_size = 32
channels = 512
steps = 2048


def get_inputs():
    return [torch.randn(batch_size, channels, steps)]


def get_init_inputs():
    return [channels]
