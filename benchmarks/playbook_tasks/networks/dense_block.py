"""Six layers of a DenseNet that collect their outputs in a list."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, growth: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(channels + number * growth),
                nn.ReLU(inplace=True),
                nn.Conv2d(channels + number * growth, growth, 3, padding=1, bias=False),
            )
            for number in range(depth)
        )
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = [x]
        for layer in self.layers:
            features.append(layer(torch.cat(features, dim=1)))
        return torch.cat(features, dim=1)


batch_size = 16
channels = 64
growth = 32
depth = 6
size = 56


def get_inputs():
    return [torch.randn(batch_size, channels, size, size)]


def get_init_inputs():
    return [channels, growth, depth]
