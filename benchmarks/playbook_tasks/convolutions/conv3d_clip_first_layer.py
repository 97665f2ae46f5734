"""The first layer of a video network, with batch norm, relu and the mean over time."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, out_channels: int):
        super().__init__()
        self.conv = nn.Conv3d(3, out_channels, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3), bias=False)
        self.norm = nn.BatchNorm3d(out_channels)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.norm(self.conv(x))).mean(dim=2)


batch_size = 16
out_channels = 64
frames = 16
height = 112
width = 112


def get_inputs():
    return [torch.randn(batch_size, 3, frames, height, width)]


def get_init_inputs():
    return [out_channels]
