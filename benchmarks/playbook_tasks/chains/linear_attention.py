"""Attention without a softmax: keys and values are summed up first."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        query, key = F.elu(query) + 1, F.elu(key) + 1
        sums = torch.einsum("bhnd,bhne->bhde", key, value)
        scale = 1 / torch.einsum("bhnd,bhd->bhn", query, key.sum(dim=2))
        return torch.einsum("bhnd,bhde,bhn->bhne", query, sums, scale)


batch_size = 4
heads = 16
steps = 8192
width = 64


def get_inputs():
    return [
        torch.randn(batch_size, heads, steps, width),
        torch.randn(batch_size, heads, steps, width),
        torch.randn(batch_size, heads, steps, width),
    ]


def get_init_inputs():
    return []
