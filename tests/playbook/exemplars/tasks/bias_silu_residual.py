"""residual + scale * silu(x + bias), elementwise with one bias per channel."""

import torch
import torch.nn as nn

BATCH = 64
SEQUENCE = 256
CHANNELS = 768
SCALE = 0.5


class Model(nn.Module):
    def __init__(self, channels, scale):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))
        self.scale = scale

    def forward(self, x, residual):
        return residual + self.scale * nn.functional.silu(x + self.bias)


def get_inputs():
    return [torch.randn(BATCH, SEQUENCE, CHANNELS), torch.randn(BATCH, SEQUENCE, CHANNELS)]


def get_init_inputs():
    return [CHANNELS, SCALE]
