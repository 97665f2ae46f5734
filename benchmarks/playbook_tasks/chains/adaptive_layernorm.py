"""Layer norm whose scale and shift come from a condition, as in diffusion transformers."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.modulation = nn.Linear(width, 2 * width)

    def forward(self, x: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        shift, scale = self.modulation(F.silu(condition)).chunk(2, dim=1)
        return self.norm(x) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


batch_size = 64
steps = 1024
width = 1152


def get_inputs():
    return [torch.randn(batch_size, steps, width), torch.randn(batch_size, width)]


def get_init_inputs():
    return [width]
