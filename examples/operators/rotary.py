"""Rotary position embedding: the halves of each head are turned by an angle for each position."""

import torch

SHAPES = {"x": ["B", "H", "S", "D"], "cos": ["S", "D"], "sin": ["S", "D"]}
ACCURACY = [
    {"B": 1, "H": 1, "S": 1, "D": 2},
    {"B": 2, "H": 3, "S": 13, "D": 22},
    {"B": 2, "H": 4, "S": 32, "D": 64},
    {"B": 1, "H": 2, "S": 257, "D": 32},
    {"B": 0, "H": 3, "S": 5, "D": 8},
]
PERFORMANCE = [{"B": 8, "H": 16, "S": 1024, "D": 128}, {"B": 1, "H": 32, "S": 8192, "D": 64}]


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin
