"""A diagonal matrix, made of its diagonal, times a matrix."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, diagonal: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.diag(diagonal) @ x


rows = 6144
columns = 8192


def get_inputs():
    return [torch.randn(rows), torch.randn(rows, columns)]


def get_init_inputs():
    return []
