"""A linear layer followed by log-softmax over the classes."""

import torch
import torch.nn as nn

BATCH = 20
FEATURES = 24
CLASSES = 40


class Model(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.fc = nn.Linear(features, classes)

    def forward(self, x):
        return torch.log_softmax(self.fc(x), dim=1)


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, CLASSES]
