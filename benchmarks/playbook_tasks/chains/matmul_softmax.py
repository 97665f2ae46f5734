"""Similarities to a dictionary of keys as probabilities."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x @ keys.T / x.shape[-1] ** 0.5, dim=-1)


rows = 8192
width = 1024
keys = 4096


def get_inputs():
    return [torch.randn(rows, width), torch.randn(keys, width)]


def get_init_inputs():
    return []
