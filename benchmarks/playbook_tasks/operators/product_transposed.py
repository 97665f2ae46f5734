"""A float32 product of two matrices that are both stored transposed."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a.T @ b.T


rows = 3072
width = 5120
columns = 2560


def get_inputs():
    return [torch.randn(width, rows), torch.randn(columns, width)]


def get_init_inputs():
    return []
