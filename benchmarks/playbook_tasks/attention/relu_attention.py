"""Causal attention with a relu in the place of the softmax."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int, heads: int, most_steps: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.register_buffer("mask", torch.tril(torch.ones(most_steps, most_steps)).bool())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, width = x.shape
        query, key, value = self.qkv(x).view(batch, steps, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) * key.shape[-1] ** -0.5
        scores = scores.masked_fill(~self.mask[:steps, :steps], 0.0)
        return (F.relu(scores) @ value).transpose(1, 2).reshape(batch, steps, width) / steps


batch_size = 16
steps = 512
width = 1024
heads = 16
most_steps = 1024


def get_inputs():
    return [torch.randn(batch_size, steps, width)]


def get_init_inputs():
    return [width, heads, most_steps]
