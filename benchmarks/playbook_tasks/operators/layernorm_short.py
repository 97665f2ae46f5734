"""Layer norm of many short rows."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


tokens = 262_144
width = 384


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width]
