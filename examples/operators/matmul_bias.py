"""The product of two matrices, plus a bias for each column."""

import torch

SHAPES = {"a": ["M", "K"], "b": ["K", "N"], "bias": ["N"]}


def matmul_bias(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return a @ b + bias
