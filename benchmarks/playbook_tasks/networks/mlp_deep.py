"""A plain network of many narrow layers for tables."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, widths: list[int], outputs: int):
        super().__init__()
        layers: list[nn.Module] = []
        for width in widths:
            layers += [nn.Linear(features, width), nn.ReLU()]
            features = width
        self.network = nn.Sequential(*layers, nn.Linear(features, outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x)


batch_size = 1024
features = 4096
widths = [1024] * 12
outputs = 512


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features, widths, outputs]
