"""A VGG in miniature: two 3x3 convolutions with relu, a max pool and a classifier of two linear layers."""

import torch
import torch.nn as nn

BATCH = 2
CHANNELS = 2
HEIGHT = 8
WIDTH = 6
WIDE = 3
HIDDEN = 24
CLASSES = 10


class Model(nn.Module):
    def __init__(self, channels, wide, pooled, hidden, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, wide, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(wide, wide, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.fc1 = nn.Linear(wide * pooled, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        x = torch.flatten(self.pool(x), 1)
        return self.fc2(torch.relu(self.fc1(x)))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, WIDE, (HEIGHT // 2) * (WIDTH // 2), HIDDEN, CLASSES]
