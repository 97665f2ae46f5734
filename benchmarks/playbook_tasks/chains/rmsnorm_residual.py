"""Residual and RMS norm of a decoder in bfloat16; both results are needed."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        residual = residual + x
        wide = residual.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype), residual


tokens = 16384
width = 5120


def get_inputs():
    return [torch.randn(tokens, width, dtype=torch.bfloat16), torch.randn(tokens, width, dtype=torch.bfloat16)]


def get_init_inputs():
    return [width, 1e-5]
