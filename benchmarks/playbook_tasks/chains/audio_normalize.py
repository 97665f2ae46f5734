"""Recordings of four million samples: zero mean, unit variance, soft clipping."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        wave = wave - wave.mean(dim=-1, keepdim=True)
        wave = wave * torch.rsqrt(wave.square().mean(dim=-1, keepdim=True) + 1e-7)
        return torch.tanh(wave / 3)


recordings = 24
samples = 4_000_000


def get_inputs():
    return [torch.randn(recordings, samples)]


def get_init_inputs():
    return []
