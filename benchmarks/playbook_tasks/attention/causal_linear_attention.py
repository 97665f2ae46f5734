"""Attention without a softmax, where every step sees the sums of the steps before it."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        query, key = F.elu(query) + 1, F.elu(key) + 1
        sums = torch.cumsum(key.unsqueeze(-1) * value.unsqueeze(-2), dim=2)
        scale = (query * torch.cumsum(key, dim=2)).sum(dim=-1, keepdim=True)
        return torch.einsum("bhnd,bhnde->bhne", query, sums) / (scale + 1e-6)


batch_size = 4
heads = 8
steps = 1024
width = 64


def get_inputs():
    return [torch.randn(batch_size, heads, steps, width) for _ in range(3)]


def get_init_inputs():
    return []
