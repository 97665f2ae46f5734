"""A linear layer, group norm over its features, and a clamp."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int, features: int, groups: int):
        super().__init__()
        self.linear = nn.Linear(width, features)
        self.norm = nn.GroupNorm(groups, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardtanh(self.norm(self.linear(x)), -2.0, 2.0)


rows = 6144
width = 1536
features = 4096
groups = 32


def get_inputs():
    return [torch.randn(rows, width)]


def get_init_inputs():
    return [width, features, groups]
