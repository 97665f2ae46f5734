"""The sum over a middle dimension."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(dim=1)


batch_size = 64
steps = 1536
width = 1024


def get_inputs():
    return [torch.randn(batch_size, steps, width)]


def get_init_inputs():
    return []
