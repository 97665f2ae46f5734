"""The first layer of a text encoder: tokens, positions, layer norm."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocabulary: int, steps: int, width: int):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(steps, width)
        self.norm = nn.LayerNorm(width)
        self.register_buffer("places", torch.arange(steps).expand(1, -1))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = self.places[:, : tokens.shape[1]]
        return self.norm(self.words(tokens) + self.positions(places))


vocabulary = 50_000
batch_size = 128
steps = 512
width = 768


def get_inputs():
    return [torch.randint(0, vocabulary, (batch_size, steps))]


def get_init_inputs():
    return [vocabulary, steps, width]
