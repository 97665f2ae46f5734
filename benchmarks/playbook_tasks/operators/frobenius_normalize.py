"""A stack of matrices divided by the norm of all of it."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.linalg.vector_norm(x)


count = 96
rows = 1024
width = 1024


def get_inputs():
    return [torch.randn(count, rows, width)]


def get_init_inputs():
    return []
