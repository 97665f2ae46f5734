"""A float32 linear layer with bias."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features_in: int, features_out: int):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


rows = 4096
features_in = 2560
features_out = 6144


def get_inputs():
    return [torch.randn(rows, features_in)]


def get_init_inputs():
    return [features_in, features_out]
