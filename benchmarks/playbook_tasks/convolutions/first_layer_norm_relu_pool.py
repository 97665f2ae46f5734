"""The stem of a ResNet: 7x7 on three channels, batch norm, relu, max pooling."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(3, out_channels, 7, stride=2, padding=3, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(self.relu(self.norm(self.conv(x))))


batch_size = 64
out_channels = 64
height = 224
width = 224


def get_inputs():
    return [torch.randn(batch_size, 3, height, width)]


def get_init_inputs():
    return [out_channels]
