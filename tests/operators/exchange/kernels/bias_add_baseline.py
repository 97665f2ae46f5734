"""x plus a bias for each column."""

import torch


def bias_add(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x plus a bias for each column.

    x [M, N], bias [N]; float32, float16
    """
    return x + bias
