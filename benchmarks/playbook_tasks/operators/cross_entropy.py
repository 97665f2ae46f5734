"""Cross entropy of logits and labels."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(logits, labels)


tokens = 16384
classes = 10_000


def get_inputs():
    return [torch.randn(tokens, classes), torch.randint(0, classes, (tokens,))]


def get_init_inputs():
    return []
