"""Four branches of an Inception block and their concatenation."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, widths: tuple[int, ...], reduced: tuple[int, ...]):
        super().__init__()
        self.one = nn.Conv2d(channels, widths[0], 1)
        self.reduce3, self.three = (
            nn.Conv2d(channels, reduced[0], 1),
            nn.Conv2d(reduced[0], widths[1], 3, padding=1),
        )
        self.reduce5, self.five = nn.Conv2d(channels, reduced[1], 1), nn.Conv2d(reduced[1], widths[2], 5, padding=2)
        self.pooled = nn.Conv2d(channels, widths[3], 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one = self.one(x)
        three = self.three(F.relu(self.reduce3(x)))
        five = self.five(F.relu(self.reduce5(x)))
        pooled = self.pooled(F.max_pool2d(x, 3, stride=1, padding=1))
        return F.relu(torch.cat([one, three, five, pooled], dim=1))


batch_size = 64
channels = 256
widths = (128, 192, 96, 64)
reduced = (128, 32)
height = 28
width = 28


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, widths, reduced]
