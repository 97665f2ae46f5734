"""A float32 matrix times one vector."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        return torch.mv(matrix, vector)


rows = 16384
width = 12288


def get_inputs():
    return [torch.randn(rows, width), torch.randn(width)]


def get_init_inputs():
    return []
