"""nn.RMSNorm with its weight."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


tokens = 16384
width = 5120


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width]
