"""A linear layer with two weights of four bits in a byte and a scale for every 128 of them."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features_in: int, features_out: int, group_size: int):
        super().__init__()
        self.group_size = group_size
        self.register_buffer("packed", torch.randint(0, 256, (features_out, features_in // 2), dtype=torch.uint8))
        self.register_buffer("scale", (0.01 * torch.rand(features_out, features_in // group_size)).half())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low, high = self.packed & 15, self.packed >> 4
        numbers = torch.stack((low, high), dim=-1).view(self.packed.shape[0], -1, self.group_size)
        weight = (numbers.to(x.dtype) - 8) * self.scale[:, :, None]
        return F.linear(x, weight.view(self.packed.shape[0], -1))


rows = 16
features_in = 8192
features_out = 28_672
group_size = 128


def get_inputs():
    return [torch.randn(rows, features_in, dtype=torch.float16)]


def get_init_inputs():
    return [features_in, features_out, group_size]
