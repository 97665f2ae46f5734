"""A layer like Mamba: a short convolution, a selective state space over the steps, a gate."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int, states: int, rank: int):
        super().__init__()
        self.states, self.rank = states, rank
        inner = 2 * width
        self.norm = nn.LayerNorm(width)
        self.into = nn.Linear(width, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
        self.select = nn.Linear(inner, rank + 2 * states, bias=False)
        self.delta = nn.Linear(rank, inner)
        self.log_rates = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(inner, 1))
        self.skip = nn.Parameter(torch.ones(inner))
        self.out = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = x.shape[1]
        inner, gate = self.into(self.norm(x)).chunk(2, dim=-1)
        inner = F.silu(self.conv(inner.transpose(1, 2))[..., :steps].transpose(1, 2))
        delta, inward, outward = self.select(inner).split([self.rank, self.states, self.states], dim=-1)
        mixed = self.scan(inner, F.softplus(self.delta(delta)), inward, outward)
        return x + self.out(mixed * F.silu(gate))

    def scan(
        self, x: torch.Tensor, delta: torch.Tensor, inward: torch.Tensor, outward: torch.Tensor
    ) -> torch.Tensor:
        decay = torch.exp(torch.einsum("bld,dn->bldn", delta, -torch.exp(self.log_rates)))
        driven = torch.einsum("bld,bln,bld->bldn", delta, inward, x)
        state = x.new_zeros(x.shape[0], x.shape[2], self.states)
        outputs = []
        for step in range(x.shape[1]):
            state = decay[:, step] * state + driven[:, step]
            outputs.append(torch.einsum("bdn,bn->bd", state, outward[:, step]))
        return torch.stack(outputs, dim=1) + x * self.skip


batch_size = 8
steps = 64
width = 768
states = 16
rank = 48


def get_inputs():
    return [torch.randn(batch_size, steps, width)]


def get_init_inputs():
    return [width, states, rank]
