"""A U-Net with four levels."""

from itertools import pairwise

import torch
import torch.nn as nn


class DoubleConv(nn.Sequential):
    def __init__(self, channels: int, width: int):
        super().__init__(
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
        )


class Model(nn.Module):
    def __init__(self, channels: int, classes: int, width: int):
        super().__init__()
        widths = [width * 2**level for level in range(5)]
        self.first = DoubleConv(channels, width)
        self.downs = nn.ModuleList(DoubleConv(a, b) for a, b in pairwise(widths))
        self.pool = nn.MaxPool2d(2)
        self.ups = nn.ModuleList(
            nn.ConvTranspose2d(2 * level, level, 2, stride=2) for level in reversed(widths[:-1])
        )
        self.convs = nn.ModuleList(DoubleConv(2 * level, level) for level in reversed(widths[:-1]))
        self.head = nn.Conv2d(width, classes, 1)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = [self.first(x)]
        for down in self.downs:
            skips.append(down(self.pool(skips[-1])))
        x = skips.pop()
        for up, conv in zip(self.ups, self.convs, strict=True):
            x = conv(torch.cat([skips.pop(), up(x)], dim=1))
        return self.head(x)


batch_size = 8
channels = 3
classes = 2
width = 64
size = 256


def get_inputs():
    return [torch.randn(batch_size, channels, size, size)]


def get_init_inputs():
    return [channels, classes, width]
