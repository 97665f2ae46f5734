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
PERFORMANCE = [{"B": 4, "H": 24, "S": 2048, "D": 128}, {"B": 1, "H": 32, "S": 8192, "D": 64}]


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin
