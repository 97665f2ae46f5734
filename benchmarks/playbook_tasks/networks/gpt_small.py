"""A small GPT: causal attention written out, the tanh form of gelu, shared embeddings."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, most_steps: int):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("future", torch.ones(most_steps, most_steps).triu(1).bool())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, width = x.shape
        query, key, value = self.qkv(x).view(batch, steps, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(self.future[:steps, :steps], float("-inf"))
        mixed = scores.softmax(dim=-1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, steps, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, most_steps: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, most_steps)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, vocabulary: int, most_steps: int, width: int, depth: int, heads: int):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(most_steps, width)
        self.blocks = nn.ModuleList(Block(width, heads, most_steps) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.words.weight
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.words(tokens) + self.places(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


batch_size = 4
steps = 512
vocabulary = 32000
most_steps = 512
width = 512
depth = 6
heads = 8


def get_inputs():
    return [torch.randint(0, vocabulary, (batch_size, steps))]


def get_init_inputs():
    return [vocabulary, most_steps, width, depth, heads]
