"""The light that is left after every sample of a ray: a running product."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, alpha: torch.Tensor) -> torch.Tensor:
        return torch.cumprod(1 - alpha, dim=-1)


rays = 400_000
samples = 128


def get_inputs():
    return [0.1 * torch.rand(rays, samples)]


def get_init_inputs():
    return []
