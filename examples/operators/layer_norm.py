"""Each row with mean 0 and variance 1, then scaled and moved."""

import torch
import torch.nn.functional as F

SHAPES = {"x": ["...", "N"], "weight": ["N"], "bias": ["N"]}


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    return F.layer_norm(x, weight.shape, weight, bias, eps)
