"""RMS norm takes the channels of images of 2.5 GB together."""

import torch
import torch.nn as nn

BATCH = 37
FEATURES = 64
HEIGHT = 512
WIDTH = 512


class Model(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        rms = torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + self.eps)
        return x / rms


def get_inputs():
    return [torch.rand(BATCH, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs():
    return [1e-5]
