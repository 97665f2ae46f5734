"""Two blocks of a ResNeXt-50 in evaluation mode: 1x1, 3x3 in 32 groups, 1x1 and the skip around them."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, channels: int, width: int, groups: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, groups=groups, bias=False)
        self.conv3 = nn.Conv2d(width, channels, 1, bias=False)
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm2d(width), nn.BatchNorm2d(width), nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        return F.relu(self.bn3(self.conv3(out)) + x)


class Model(nn.Module):
    def __init__(self, channels: int, width: int, groups: int):
        super().__init__()
        self.blocks = nn.Sequential(Block(channels, width, groups), Block(channels, width, groups))
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks(x)


batch_size = 32
channels = 256
width = 128
groups = 32
size = 56


def get_inputs():
    return [torch.randn(batch_size, channels, size, size)]


def get_init_inputs():
    return [channels, width, groups]
