"""A MobileNet: depthwise and pointwise convolutions in turn."""

import torch
import torch.nn as nn


def separable(channels: int, out_channels: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
        nn.Conv2d(channels, out_channels, 1, bias=False),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(inplace=True),
    )


class Model(nn.Module):
    def __init__(self, classes: int):
        super().__init__()
        shapes = [(32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2)]
        shapes += [(512, 512, 1)] * 5 + [(512, 1024, 2), (1024, 1024, 1)]
        self.model = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True),
            *(separable(*shape) for shape in shapes),
            nn.AvgPool2d(7),
        )
        self.fc = nn.Linear(1024, classes)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.model(x)
        return self.fc(x.view(x.size(0), -1))


batch_size = 32
size = 224
classes = 1000


def get_inputs():
    return [torch.randn(batch_size, 3, size, size)]


def get_init_inputs():
    return [classes]
