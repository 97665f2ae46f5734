"""A float32 linear layer on eight rows, as when text is generated: the weights are the traffic."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features_in: int, features_out: int):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


rows = 8
features_in = 8192
features_out = 16384


def get_inputs():
    return [torch.randn(rows, features_in)]


def get_init_inputs():
    return [features_in, features_out]
