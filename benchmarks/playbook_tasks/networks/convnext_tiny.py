"""A ConvNeXt: depthwise 7x7, layer norm over the channels, an inverted bottleneck, a learned scale."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ChannelNorm(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class Block(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.gamma = nn.Parameter(0.1 * torch.ones(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.depthwise(x).permute(0, 2, 3, 1)
        out = self.gamma * self.down(F.gelu(self.up(self.norm(out))))
        return x + out.permute(0, 3, 1, 2)


class Model(nn.Module):
    def __init__(self, depths: tuple[int, ...], widths: tuple[int, ...], classes: int):
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, widths[0], 4, stride=4), ChannelNorm(widths[0])]
        for number, (depth, width) in enumerate(zip(depths, widths, strict=True)):
            if number > 0:
                layers += [ChannelNorm(widths[number - 1]), nn.Conv2d(widths[number - 1], width, 2, stride=2)]
            layers += [Block(width) for _ in range(depth)]
        self.layers = nn.Sequential(*layers)
        self.norm, self.head = nn.LayerNorm(widths[-1], eps=1e-6), nn.Linear(widths[-1], classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.layers(x).mean([-2, -1])))


batch_size = 16
size = 224
depths = (3, 3, 9, 3)
widths = (96, 192, 384, 768)
classes = 1000


def get_inputs():
    return [torch.randn(batch_size, 3, size, size)]


def get_init_inputs():
    return [depths, widths, classes]
