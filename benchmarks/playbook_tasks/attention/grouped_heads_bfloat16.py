"""Causal attention in bfloat16, where four query heads share one head of keys and values."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, heads: int, shared_heads: int):
        super().__init__()
        self.repeats = heads // shared_heads

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        key = key.repeat_interleave(self.repeats, dim=1)
        value = value.repeat_interleave(self.repeats, dim=1)
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)


batch_size = 4
heads = 32
shared_heads = 8
steps = 2048
width = 128


def get_inputs():
    return [
        torch.randn(batch_size, heads, steps, width, dtype=torch.bfloat16),
        torch.randn(batch_size, shared_heads, steps, width, dtype=torch.bfloat16),
        torch.randn(batch_size, shared_heads, steps, width, dtype=torch.bfloat16),
    ]


def get_init_inputs():
    return [heads, shared_heads]
