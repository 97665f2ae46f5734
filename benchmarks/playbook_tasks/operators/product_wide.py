"""A float32 product of few rows with a wide matrix."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


rows = 1024
width = 8192
columns = 8192


def get_inputs():
    return [torch.randn(rows, width), torch.randn(width, columns)]


def get_init_inputs():
    return []
