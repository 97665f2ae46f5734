"""A vocoder's upsampling: leaky relu and a transposed convolution of stride 8."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int, stride: int):
        super().__init__()
        self.up = nn.ConvTranspose1d(channels, out_channels, 2 * stride, stride=stride, padding=stride // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(F.leaky_relu(x, 0.1))


batch_size = 16
channels = 256
out_channels = 128
stride = 8
steps = 4096


def get_inputs():
    return [torch.randn(batch_size, channels, steps)]


def get_init_inputs():
    return [channels, out_channels, stride]
