import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels, kernel_size, groups):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, in_channels, kernel_size, groups=groups)

    def forward(self, x):
        return self.conv(x)


batch_size = 64
in_channels = 128
kernel_size = 7
width = 512
height = 256


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, kernel_size, in_channels]
