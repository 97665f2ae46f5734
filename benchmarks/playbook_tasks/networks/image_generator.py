"""A generator of images of 64x64 from noise, by transposed convolutions."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, noise: int, width: int):
        super().__init__()
        layers: list[nn.Module] = [
            nn.ConvTranspose2d(noise, 8 * width, 4, 1, 0, bias=False),
            nn.BatchNorm2d(8 * width),
            nn.ReLU(True),
        ]
        for factor in (4, 2, 1):
            layers += [
                nn.ConvTranspose2d(2 * factor * width, factor * width, 4, 2, 1, bias=False),
                nn.BatchNorm2d(factor * width),
                nn.ReLU(True),
            ]
        self.main = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())
        self.eval()

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return self.main(noise)


batch_size = 128
noise = 100
width = 64


def get_inputs():
    return [torch.randn(batch_size, noise, 1, 1)]


def get_init_inputs():
    return [noise, width]
