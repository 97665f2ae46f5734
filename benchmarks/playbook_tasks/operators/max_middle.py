"""The largest number over a middle dimension."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.max(dim=1).values


batch_size = 64
steps = 1024
width = 1536


def get_inputs():
    return [torch.randn(batch_size, steps, width)]


def get_init_inputs():
    return []
