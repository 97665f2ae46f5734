"""Max pooling of volumes."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool3d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


batch_size = 8
channels = 32
size = 96


def get_inputs():
    return [torch.randn(batch_size, channels, size, size, size)]


def get_init_inputs():
    return []
