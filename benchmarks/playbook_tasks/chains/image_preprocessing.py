"""Bytes of images to normalized floats, channels first."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.48, 0.46, 0.41]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.27, 0.26, 0.28]).view(1, 3, 1, 1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = images.permute(0, 3, 1, 2).float() / 255
        return ((x - self.mean) / self.std).contiguous()


batch_size = 256
height = 448
width = 448


def get_inputs():
    return [torch.randint(0, 256, (batch_size, height, width, 3), dtype=torch.uint8)]


def get_init_inputs():
    return []
