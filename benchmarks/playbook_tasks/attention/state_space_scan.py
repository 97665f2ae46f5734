"""A selective state space, one step after the other in float32."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, states: int):
        super().__init__()
        self.log_rates = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(channels, 1))
        self.skip = nn.Parameter(torch.ones(channels))

    def forward(
        self, x: torch.Tensor, delta: torch.Tensor, inward: torch.Tensor, outward: torch.Tensor
    ) -> torch.Tensor:
        delta = F.softplus(delta)
        decay = torch.exp(delta.unsqueeze(-1) * -torch.exp(self.log_rates))
        driven = (delta * x).unsqueeze(-1) * inward.unsqueeze(2)
        state = torch.zeros_like(driven[:, 0])
        outputs = []
        for step in range(x.shape[1]):
            state = decay[:, step] * state + driven[:, step]
            outputs.append((state * outward[:, step].unsqueeze(1)).sum(dim=-1))
        return torch.stack(outputs, dim=1) + x * self.skip


batch_size = 8
steps = 128
channels = 1024
states = 16


def get_inputs():
    return [
        torch.randn(batch_size, steps, channels),
        torch.randn(batch_size, steps, channels),
        torch.randn(batch_size, steps, states),
        torch.randn(batch_size, steps, states),
    ]


def get_init_inputs():
    return [channels, states]
