"""A 1x1 convolution with bias, then leaky relu."""

import torch
import torch.nn as nn

BATCH = 2
IN_CHANNELS = 20
OUT_CHANNELS = 12
HEIGHT = 7
WIDTH = 9


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, slope):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=1)
        self.slope = slope

    def forward(self, x):
        return torch.nn.functional.leaky_relu(self.conv(x), self.slope)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, 0.1]
