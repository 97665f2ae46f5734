"""Layer normalization of the last dimension, with weight and bias."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch_size = 16
sequence = 1024
features = 2048


def get_inputs():
    return [torch.randn(batch_size, sequence, features)]


def get_init_inputs():
    return [features]
