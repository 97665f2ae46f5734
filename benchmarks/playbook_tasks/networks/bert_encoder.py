"""Six layers of an encoder with the norms last, and a pooled first token."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, steps, width = x.shape
        query, key, value = (
            layer(x).view(batch, steps, self.heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(width // self.heads) + mask
        mixed = torch.matmul(F.softmax(scores, dim=-1), value).transpose(1, 2).reshape(batch, steps, width)
        x = self.norm1(self.out(mixed) + x)
        return self.norm2(self.down(F.gelu(self.up(x))) + x)


class Model(nn.Module):
    def __init__(self, vocabulary: int, steps: int, width: int, depth: int, heads: int):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(steps, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.positions(places))
        mask = (1.0 - mask[:, None, None, :]) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        return torch.tanh(self.pooler(x[:, 0]))


batch_size = 32
steps = 128
vocabulary = 30522
width = 768
depth = 6
heads = 12


def get_inputs():
    return [
        torch.randint(0, vocabulary, (batch_size, steps)),
        (torch.arange(steps) < torch.randint(16, steps + 1, (batch_size, 1))).float(),
    ]


def get_init_inputs():
    return [vocabulary, steps, width, depth, heads]
