"""A float32 product for every matrix of a batch."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


batch_size = 48
rows = 640
width = 512
columns = 768


def get_inputs():
    return [torch.randn(batch_size, rows, width), torch.randn(batch_size, width, columns)]


def get_init_inputs():
    return []
