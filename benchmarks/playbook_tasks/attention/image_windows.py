"""Attention within windows of 7x7 pixels, with a bias for each offset."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int, heads: int, window: int):
        super().__init__()
        self.heads, self.window = heads, window
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.02)
        places = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        offsets = places[:, :, None] - places[:, None, :] + window - 1
        self.register_buffer("index", offsets[0] * (2 * window - 1) + offsets[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, height, breadth, width = x.shape
        size = self.window
        x = x.view(batch, height // size, size, breadth // size, size, width)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, width)
        query, key, value = self.qkv(x).view(len(x), size * size, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = query * key.shape[-1] ** -0.5 @ key.transpose(-2, -1)
        weights = F.softmax(scores + self.table[self.index].permute(2, 0, 1), dim=-1)
        x = self.out((weights @ value).transpose(1, 2).reshape(-1, size * size, width))
        x = x.view(batch, height // size, breadth // size, size, size, width)
        return x.permute(0, 1, 3, 2, 4, 5).reshape(batch, height, breadth, width)


batch_size = 32
height = 56
breadth = 56
width = 96
heads = 3
window = 7


def get_inputs():
    return [torch.randn(batch_size, height, breadth, width)]


def get_init_inputs():
    return [width, heads, window]
