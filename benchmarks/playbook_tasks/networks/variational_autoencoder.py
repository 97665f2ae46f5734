"""A convolutional autoencoder whose noise is an input."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int, latent: int, size: int):
        super().__init__()
        self.width, self.quarter = width, size // 4
        flat = 2 * width * self.quarter**2
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.mean, self.log_variance = nn.Linear(flat, latent), nn.Linear(flat, latent)
        self.project = nn.Linear(latent, flat)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(2 * width, width, 3, stride=2, padding=1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 3, stride=2, padding=1, output_padding=1),
            nn.Sigmoid(),
        )

    def forward(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(x)
        latent = self.mean(hidden) + noise * torch.exp(0.5 * self.log_variance(hidden))
        hidden = self.project(latent).view(-1, 2 * self.width, self.quarter, self.quarter)
        return self.decoder(hidden)


batch_size = 256
size = 64
width = 32
latent = 128


def get_inputs():
    return [torch.rand(batch_size, 3, size, size), torch.randn(batch_size, latent)]


def get_init_inputs():
    return [width, latent, size]
