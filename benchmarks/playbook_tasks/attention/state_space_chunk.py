"""A chunk of a state-space layer as masked products: decays are differences of running sums."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(
        self, x: torch.Tensor, log_decay: torch.Tensor, inward: torch.Tensor, outward: torch.Tensor
    ) -> torch.Tensor:
        sums = torch.cumsum(-F.softplus(log_decay), dim=-1)
        between = sums.unsqueeze(-1) - sums.unsqueeze(-2)
        steps = x.shape[-2]
        future = torch.triu(torch.ones(steps, steps, dtype=torch.bool, device=x.device), diagonal=1)
        weights = torch.exp(between.masked_fill(future, float("-inf")))
        return (outward @ inward.transpose(-2, -1) * weights) @ x


chunks = 64
heads = 16
steps = 128
width = 64
states = 64


def get_inputs():
    return [
        torch.randn(chunks, heads, steps, width),
        torch.randn(chunks, heads, steps),
        torch.randn(chunks, heads, steps, states),
        torch.randn(chunks, heads, steps, states),
    ]


def get_init_inputs():
    return []
