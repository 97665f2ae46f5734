"""A small U-Net of volumes with instance norm and leaky relu."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def block(channels: int, width: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv3d(channels, width, 3, stride=stride, padding=1),
        nn.InstanceNorm3d(width, affine=True),
        nn.LeakyReLU(0.01, inplace=True),
    )


class Model(nn.Module):
    def __init__(self, channels: int, classes: int, width: int):
        super().__init__()
        self.encode1 = nn.Sequential(block(channels, width), block(width, width))
        self.encode2 = nn.Sequential(block(width, 2 * width, 2), block(2 * width, 2 * width))
        self.encode3 = nn.Sequential(block(2 * width, 4 * width, 2), block(4 * width, 4 * width))
        self.decode2, self.decode1 = block(6 * width, 2 * width), block(3 * width, width)
        self.head = nn.Conv3d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one = self.encode1(x)
        two = self.encode2(one)
        three = self.encode3(two)
        up = F.interpolate(three, scale_factor=2, mode="nearest")
        two = self.decode2(torch.cat([two, up], dim=1))
        up = F.interpolate(two, scale_factor=2, mode="nearest")
        return self.head(self.decode1(torch.cat([one, up], dim=1)))


batch_size = 2
channels = 1
classes = 4
width = 24
size = 96


def get_inputs():
    return [torch.randn(batch_size, channels, size, size, size)]


def get_init_inputs():
    return [channels, classes, width]
