"""The head of a language model with its loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int, vocabulary: int):
        super().__init__()
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.head(x), labels)


tokens = 8192
width = 1024
vocabulary = 16_000


def get_inputs():
    return [torch.randn(tokens, width), torch.randint(0, vocabulary, (tokens,))]


def get_init_inputs():
    return [width, vocabulary]
