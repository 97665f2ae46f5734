"""The stem of a mobile network: 3x3 on three channels with few channels behind."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(3, out_channels, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardswish(self.norm(self.conv(x)))


batch_size = 128
out_channels = 16
height = 224
width = 224


def get_inputs():
    return [torch.rand(batch_size, 3, height, width)]


def get_init_inputs():
    return [out_channels]
