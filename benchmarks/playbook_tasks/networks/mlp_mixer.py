"""Eight layers of an MLP mixer on patches."""

import torch
import torch.nn as nn


class Mixer(nn.Module):
    def __init__(self, tokens: int, width: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, width // 2), nn.GELU(), nn.Linear(width // 2, tokens))
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Model(nn.Module):
    def __init__(self, patch: int, tokens: int, width: int, depth: int, classes: int):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.mixers = nn.Sequential(*(Mixer(tokens, width) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.mixers(x)).mean(dim=1))


batch_size = 32
size = 224
patch = 16
width = 512
depth = 8
classes = 1000


def get_inputs():
    return [torch.randn(batch_size, 3, size, size)]


def get_init_inputs():
    return [patch, (size // patch) ** 2, width, depth, classes]
