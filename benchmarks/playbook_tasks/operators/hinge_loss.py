"""The hinge loss of many scores and their signs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, scores: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
        return torch.clamp(1 - scores * signs, min=0).mean()


rows = 16384
labels = 4096


def get_inputs():
    return [torch.randn(rows, labels), torch.randint(0, 2, (rows, labels)) * 2.0 - 1]


def get_init_inputs():
    return []
