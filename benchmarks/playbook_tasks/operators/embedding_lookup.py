"""Rows of a large table by token."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.table(tokens)


vocabulary = 100_000
width = 1024
batch_size = 48
steps = 2048


def get_inputs():
    return [torch.randint(0, vocabulary, (batch_size, steps))]


def get_init_inputs():
    return [vocabulary, width]
