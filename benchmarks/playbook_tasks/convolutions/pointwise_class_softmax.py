"""The head of a segmentation: 1x1 to the classes, and their probabilities at every pixel."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, classes: int):
        super().__init__()
        self.head = nn.Conv2d(channels, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.head(x), dim=1)


batch_size = 8
channels = 64
classes = 21
height = 512
width = 512


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, classes]
