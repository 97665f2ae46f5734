"""Attention with a bias for each pair and a gate, as in protein models."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int, pair_width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.bias = nn.Linear(pair_width, heads, bias=False)
        self.gate, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
        batch, steps, width = x.shape
        query, key, value = self.qkv(x).view(batch, steps, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = torch.einsum("bhid,bhjd->bhij", query, key) * query.shape[-1] ** -0.5
        weights = torch.softmax(scores + self.bias(pairs).permute(0, 3, 1, 2), dim=-1)
        mixed = torch.einsum("bhij,bhjd->bihd", weights, value).reshape(batch, steps, width)
        return self.out(torch.sigmoid(self.gate(x)) * mixed)


batch_size = 4
steps = 384
width = 384
pair_width = 128
heads = 16


def get_inputs():
    return [torch.randn(batch_size, steps, width), torch.randn(batch_size, steps, steps, pair_width)]


def get_init_inputs():
    return [width, pair_width, heads]
