"""The feed-forward half of a transformer layer: two products with a GELU to fuse between them."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(nn.functional.gelu(self.up(x)))


batch_size = 2048
features = 1024
hidden = 4096


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return {"features": features, "hidden": hidden}
