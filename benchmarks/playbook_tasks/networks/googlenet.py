"""A network of nine Inception blocks with batch norm."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvRelu(nn.Module):
    def __init__(self, channels: int, width: int, kernel: int, stride: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(channels, width, kernel, stride=stride, padding=kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(width, eps=0.001)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    def __init__(self, channels: int, one: int, reduce3: int, three: int, reduce5: int, five: int, pooled: int):
        super().__init__()
        self.branch1 = ConvRelu(channels, one, 1)
        self.branch2 = nn.Sequential(ConvRelu(channels, reduce3, 1), ConvRelu(reduce3, three, 3))
        self.branch3 = nn.Sequential(ConvRelu(channels, reduce5, 1), ConvRelu(reduce5, five, 3))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), ConvRelu(channels, pooled, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branches = (self.branch1, self.branch2, self.branch3, self.branch4)
        return torch.cat([branch(x) for branch in branches], 1)


class Model(nn.Module):
    def __init__(self, classes: int):
        super().__init__()
        self.features = nn.Sequential(
            ConvRelu(3, 64, 7, stride=2),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            ConvRelu(64, 64, 1),
            ConvRelu(64, 192, 3),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            Inception(192, 64, 96, 128, 16, 32, 32),
            Inception(256, 128, 128, 192, 32, 96, 64),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            Inception(480, 192, 96, 208, 16, 48, 64),
            Inception(512, 160, 112, 224, 24, 64, 64),
            Inception(512, 128, 128, 256, 24, 64, 64),
            Inception(512, 112, 144, 288, 32, 64, 64),
            Inception(528, 256, 160, 320, 32, 128, 128),
            nn.MaxPool2d(2, stride=2, ceil_mode=True),
            Inception(832, 256, 160, 320, 32, 128, 128),
            Inception(832, 384, 192, 384, 48, 128, 128),
        )
        self.fc = nn.Linear(1024, classes)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(F.adaptive_avg_pool2d(self.features(x), (1, 1)).flatten(1))


batch_size = 32
size = 224
classes = 1000


def get_inputs():
    return [torch.randn(batch_size, 3, size, size)]


def get_init_inputs():
    return [classes]
