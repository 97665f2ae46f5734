"""A linear layer, a learned scale, the residual and an activation."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.rand(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x) * self.scale + x)


tokens = 4096
width = 3072


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width]
