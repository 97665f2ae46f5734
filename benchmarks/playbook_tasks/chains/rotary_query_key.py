"""Rotary position embedding of bfloat16 queries and of keys, which have fewer heads."""

import torch
import torch.nn as nn


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Model(nn.Module):
    def forward(
        self, query: torch.Tensor, key: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return query * cos + rotate_half(query) * sin, key * cos + rotate_half(key) * sin


batch_size = 8
steps = 4096
heads = 32
key_heads = 8
width = 128


def get_inputs():
    return [
        torch.randn(batch_size, heads, steps, width, dtype=torch.bfloat16),
        torch.randn(batch_size, key_heads, steps, width, dtype=torch.bfloat16),
        torch.rand(steps, width, dtype=torch.bfloat16),
        torch.rand(steps, width, dtype=torch.bfloat16),
    ]


def get_init_inputs():
    return []
