"""A linear layer, then a residual connection and relu."""

import torch
import torch.nn as nn

BATCH = 18
WIDTH = 48


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(x + self.fc(x))


def get_inputs():
    return [torch.randn(BATCH, WIDTH)]


def get_init_inputs():
    return [WIDTH]
