"""The upper triangle of a matrix times a matrix."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.triu(a) @ b


size = 4096
columns = 3072


def get_inputs():
    return [torch.randn(size, size), torch.randn(size, columns)]


def get_init_inputs():
    return []
