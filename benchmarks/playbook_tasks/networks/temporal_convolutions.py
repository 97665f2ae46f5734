"""A causal network over long sequences: dilations of 1, 2, 4, 8 with residuals."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, channels: int, width: int, kernel: int, dilation: int):
        super().__init__()
        self.padding = (kernel - 1) * dilation
        self.conv1 = nn.Conv1d(channels, width, kernel, dilation=dilation, padding=self.padding)
        self.conv2 = nn.Conv1d(width, width, kernel, dilation=dilation, padding=self.padding)
        self.match = nn.Conv1d(channels, width, 1) if channels != width else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = F.relu(self.conv1(x)[:, :, : -self.padding])
        out = F.relu(self.conv2(out)[:, :, : -self.padding])
        return F.relu(out + (x if self.match is None else self.match(x)))


class Model(nn.Module):
    def __init__(self, channels: int, width: int, kernel: int, depth: int, outputs: int):
        super().__init__()
        self.blocks = nn.Sequential(
            *(Block(channels if number == 0 else width, width, kernel, 2**number) for number in range(depth))
        )
        self.head = nn.Linear(width, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(x)[:, :, -1])


batch_size = 32
channels = 16
width = 64
kernel = 3
depth = 4
outputs = 10
steps = 4096


def get_inputs():
    return [torch.randn(batch_size, channels, steps)]


def get_init_inputs():
    return [channels, width, kernel, depth, outputs]
