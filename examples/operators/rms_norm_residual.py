"""The sum of x and a residual, and that sum with root mean square 1 in each row, scaled."""

import torch

SHAPES = {"x": ["M", "N"], "residual": ["M", "N"], "weight": ["N"]}


def rms_norm_residual(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor]:
    total = x + residual
    scale = torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + eps)
    return total * scale * weight, total
