"""Two units of a ShuffleNet: grouped 1x1 convolutions with their channels mixed in between."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Unit(nn.Module):
    def __init__(self, channels: int, groups: int):
        super().__init__()
        middle = channels // 4
        self.groups = groups
        self.conv1 = nn.Conv2d(channels, middle, 1, groups=groups, bias=False)
        self.conv2 = nn.Conv2d(middle, middle, 3, padding=1, groups=middle, bias=False)
        self.conv3 = nn.Conv2d(middle, channels, 1, groups=groups, bias=False)
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm2d(middle), nn.BatchNorm2d(middle), nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        batch, channels, height, width = out.shape
        out = out.view(batch, self.groups, channels // self.groups, height, width).transpose(1, 2)
        out = out.reshape(batch, channels, height, width)
        out = self.bn3(self.conv3(self.bn2(self.conv2(out))))
        return F.relu(x + out)


class Model(nn.Module):
    def __init__(self, channels: int, groups: int):
        super().__init__()
        self.units = nn.Sequential(Unit(channels, groups), Unit(channels, groups))
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.units(x)


batch_size = 64
channels = 240
groups = 3
size = 28


def get_inputs():
    return [torch.randn(batch_size, channels, size, size)]


def get_init_inputs():
    return [channels, groups]
