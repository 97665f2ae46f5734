"""A float32 product whose result is small and whose sums are long."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


rows = 192
width = 400_000
columns = 160


def get_inputs():
    return [torch.randn(rows, width), torch.randn(width, columns)]


def get_init_inputs():
    return []
