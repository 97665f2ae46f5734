"""Attention with a learned bias for every distance, clipped at both ends."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, heads: int, farthest: int):
        super().__init__()
        self.farthest = farthest
        self.bias = nn.Embedding(2 * farthest + 1, heads)

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        steps = torch.arange(query.shape[2], device=query.device)
        distances = (steps[None, :] - steps[:, None]).clamp(-self.farthest, self.farthest) + self.farthest
        scores = query @ key.transpose(-2, -1) + self.bias(distances).permute(2, 0, 1)
        return F.softmax(scores, dim=-1) @ value


batch_size = 8
heads = 12
steps = 512
width = 64
farthest = 128


def get_inputs():
    return [torch.randn(batch_size, heads, steps, width) * 0.3 for _ in range(3)]


def get_init_inputs():
    return [heads, farthest]
