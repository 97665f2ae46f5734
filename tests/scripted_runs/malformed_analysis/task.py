"""Layer normalisation over the last dimension, scale and shift included."""

import torch
import torch.nn as nn

BATCH = 3
ROWS = 14
FEATURES = 100


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(BATCH, ROWS, FEATURES)]


def get_init_inputs():
    return [FEATURES]
