"""A linear layer with int8 weights and a scale for every output, on few bfloat16 rows."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features_in: int, features_out: int):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (features_out, features_in), dtype=torch.int8))
        self.register_buffer("scale", (0.001 * torch.rand(features_out)).to(torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight.to(x.dtype)) * self.scale


rows = 16
features_in = 8192
features_out = 28_672


def get_inputs():
    return [torch.randn(rows, features_in, dtype=torch.bfloat16)]


def get_init_inputs():
    return [features_in, features_out]
