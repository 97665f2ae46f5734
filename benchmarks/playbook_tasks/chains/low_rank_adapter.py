"""A linear layer with a low-rank correction."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int, rank: int):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.a, self.b = (
            nn.Parameter(0.02 * torch.randn(rank, width)),
            nn.Parameter(0.02 * torch.randn(width, rank)),
        )
        self.scaling = 2.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + self.scaling * (x @ self.a.T @ self.b.T)


tokens = 4096
width = 4096
rank = 16


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width, rank]
