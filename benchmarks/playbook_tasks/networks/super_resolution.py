"""Eight residual blocks without norms and a pixel shuffle, in half precision."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, channels: int, scale: float):
        super().__init__()
        self.conv1, self.conv2 = (
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.Conv2d(channels, channels, 3, padding=1),
        )
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.conv2(F.relu(self.conv1(x))) * self.scale


class Model(nn.Module):
    def __init__(self, channels: int, depth: int, factor: int):
        super().__init__()
        self.first = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.Sequential(*(Block(channels, 0.1) for _ in range(depth)))
        self.last = nn.Sequential(nn.Conv2d(channels, 3 * factor**2, 3, padding=1), nn.PixelShuffle(factor))
        self.half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        return self.last(x + self.blocks(x))


batch_size = 8
channels = 64
depth = 8
factor = 2
size = 192


def get_inputs():
    return [torch.rand(batch_size, 3, size, size, dtype=torch.float16)]


def get_init_inputs():
    return [channels, depth, factor]
