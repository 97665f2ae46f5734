"""The token half of an MLP mixer: linear layers over a middle dimension."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, tokens: int, width: int, hidden: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(tokens, hidden), nn.Linear(hidden, tokens)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mixed = self.norm(x).transpose(1, 2)
        mixed = self.down(F.gelu(self.up(mixed)))
        return x + mixed.transpose(1, 2)


batch_size = 128
tokens = 196
width = 768
hidden = 384


def get_inputs():
    return [torch.randn(batch_size, tokens, width)]


def get_init_inputs():
    return [tokens, width, hidden]
