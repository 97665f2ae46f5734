"""A layer of causal attention with its projections, the mask as a buffer."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int, heads: int, most_steps: int):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        mask = torch.tril(torch.ones(most_steps, most_steps)).view(1, 1, most_steps, most_steps)
        self.register_buffer("mask", mask)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, width = x.shape
        query, key, value = (
            part.view(batch, steps, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, dim=2)
        )
        scores = query @ key.transpose(-2, -1) * key.shape[-1] ** -0.5
        scores = scores.masked_fill(self.mask[:, :, :steps, :steps] == 0, float("-inf"))
        mixed = F.softmax(scores, dim=-1) @ value
        return self.out(mixed.transpose(1, 2).contiguous().view(batch, steps, width))


batch_size = 16
steps = 512
width = 768
heads = 12
most_steps = 1024


def get_inputs():
    return [torch.randn(batch_size, steps, width)]


def get_init_inputs():
    return [width, heads, most_steps]
