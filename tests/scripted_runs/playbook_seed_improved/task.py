"""Two results of different shapes that have nothing to do with one another."""

import torch
import torch.nn as nn

ROWS = 14
FEATURES = 100
STEPS = 330


class Model(nn.Module):
    def forward(self, x, y):
        return torch.relu(x) * 2.0 + 1.0, torch.sigmoid(y) * y


def get_inputs():
    return [torch.randn(ROWS, FEATURES), torch.randn(STEPS)]


def get_init_inputs():
    return []
