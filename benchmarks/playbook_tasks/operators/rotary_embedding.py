"""Rotary position embedding of queries, the halves rotated against each other."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        rotated = torch.cat((-second, first), dim=-1)
        return x * cos + rotated * sin


batch_size = 8
heads = 32
steps = 2048
width = 128


def get_inputs():
    return [torch.randn(batch_size, heads, steps, width), torch.rand(steps, width), torch.rand(steps, width)]


def get_init_inputs():
    return []
