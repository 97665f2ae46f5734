"""Causal attention whose scores fall with the distance, by a slope for each head."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, heads: int):
        super().__init__()
        self.register_buffer("slopes", 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads))

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        steps = torch.arange(query.shape[2], device=query.device)
        distances = steps[None, :] - steps[:, None]
        bias = (self.slopes[:, None, None] * distances).masked_fill(distances > 0, float("-inf"))
        scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5 + bias
        return torch.softmax(scores, dim=-1) @ value


batch_size = 4
heads = 16
steps = 1024
width = 128


def get_inputs():
    return [torch.randn(batch_size, heads, steps, width) for _ in range(3)]


def get_init_inputs():
    return [heads]
