"""A MobileNet of inverted residuals."""

import torch
import torch.nn as nn


class InvertedResidual(nn.Module):
    def __init__(self, channels: int, out_channels: int, stride: int, expansion: int):
        super().__init__()
        hidden = channels * expansion
        self.has_shortcut = stride == 1 and channels == out_channels
        layers: list[nn.Module] = []
        if expansion != 1:
            layers += [nn.Conv2d(channels, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True)]
        layers += [
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
        ]
        self.conv = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.conv(x) if self.has_shortcut else self.conv(x)


class Model(nn.Module):
    def __init__(self, classes: int):
        super().__init__()
        stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2))
        layers: list[nn.Module] = [
            nn.Conv2d(3, 32, 3, 2, 1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU6(inplace=True),
        ]
        channels = 32
        for expansion, width, depth, stride in (*stages, (6, 320, 1, 1)):
            for number in range(depth):
                layers.append(InvertedResidual(channels, width, stride if number == 0 else 1, expansion))
                channels = width
        layers += [nn.Conv2d(channels, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(inplace=True)]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x).mean([2, 3]))


batch_size = 32
size = 224
classes = 1000


def get_inputs():
    return [torch.randn(batch_size, 3, size, size)]


def get_init_inputs():
    return [classes]
