"""The network of a radiance field: positions as waves, eight layers with a skip, density and color."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int, position_waves: int, direction_waves: int):
        super().__init__()
        self.register_buffer("position_rates", 2.0 ** torch.arange(position_waves))
        self.register_buffer("direction_rates", 2.0 ** torch.arange(direction_waves))
        positions, directions = 3 + 6 * position_waves, 3 + 6 * direction_waves
        self.layers = nn.ModuleList(
            nn.Linear(positions if number == 0 else width + positions * (number == 5), width) for number in range(8)
        )
        self.density, self.feature = nn.Linear(width, 1), nn.Linear(width, width)
        self.view, self.color = nn.Linear(width + directions, width // 2), nn.Linear(width // 2, 3)

    def encode(self, x: torch.Tensor, rates: torch.Tensor) -> torch.Tensor:
        angles = (x[..., None] * rates).flatten(-2)
        return torch.cat([x, torch.sin(angles), torch.cos(angles)], dim=-1)

    def forward(self, positions: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
        encoded = self.encode(positions, self.position_rates)
        hidden = encoded
        for number, layer in enumerate(self.layers):
            if number == 5:
                hidden = torch.cat([encoded, hidden], dim=-1)
            hidden = F.relu(layer(hidden))
        density = F.softplus(self.density(hidden))
        seen = torch.cat([self.feature(hidden), self.encode(directions, self.direction_rates)], dim=-1)
        color = torch.sigmoid(self.color(F.relu(self.view(seen))))
        return torch.cat([color, density], dim=-1)


points = 65536
width = 256
position_waves = 10
direction_waves = 4


def get_inputs():
    return [torch.rand(points, 3) * 2 - 1, torch.rand(points, 3) * 2 - 1]


def get_init_inputs():
    return [width, position_waves, direction_waves]
