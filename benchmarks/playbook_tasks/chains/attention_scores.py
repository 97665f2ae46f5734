"""Attention probabilities with an additive mask."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        return torch.softmax(scores + mask, dim=-1)


batch_size = 4
heads = 16
steps = 1024
width = 64


def get_inputs():
    return [
        torch.randn(batch_size, heads, steps, width),
        torch.randn(batch_size, heads, steps, width),
        torch.zeros(steps, steps).masked_fill(torch.rand(steps, steps) < 0.3, -10_000.0),
    ]


def get_init_inputs():
    return []
