"""Few latent vectors that look at many inputs, written out with its softmax."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, latents: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.query(latents), self.key(x), self.value(x)
        scores = torch.bmm(query, key.transpose(1, 2)) * query.shape[-1] ** -0.5
        return latents + self.out(torch.bmm(F.softmax(scores, dim=-1), value))


batch_size = 16
latents = 256
steps = 4096
width = 512


def get_inputs():
    return [torch.randn(batch_size, latents, width), torch.randn(batch_size, steps, width)]


def get_init_inputs():
    return [width]
