"""Max pooling along sequences, with windows that overlap."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool1d(5, stride=2, padding=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


batch_size = 64
channels = 192
steps = 8192


def get_inputs():
    return [torch.randn(batch_size, channels, steps)]


def get_init_inputs():
    return []
