"""Leaky ReLU, GELU and a bias per channel follow one another over 2 GB, as after a convolution."""

import torch
import torch.nn as nn

BATCH = 128
CHANNELS = 64
HEIGHT = 248
WIDTH = 248


class Model(nn.Module):
    def __init__(self, channels, negative_slope):
        super().__init__()
        self.negative_slope = negative_slope
        self.bias = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x):
        x = torch.nn.functional.leaky_relu(x, negative_slope=self.negative_slope)
        x = torch.nn.functional.gelu(x)
        return x + self.bias


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, 0.01]
