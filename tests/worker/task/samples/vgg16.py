import torch
import torch.nn as nn


def block(channels_in, channels_out, convolutions):
    layers = []
    for index in range(convolutions):
        layers += [
            nn.Conv2d(channels_in if index == 0 else channels_out, channels_out, 3, padding=1),
            nn.ReLU(),
        ]
    return [*layers, nn.MaxPool2d(2)]


class Model(nn.Module):
    def __init__(self, num_classes=1000):
        super().__init__()
        self.features = nn.Sequential(
            *block(3, 64, 2),
            *block(64, 128, 2),
            *block(128, 256, 3),
            *block(256, 512, 3),
            *block(512, 512, 3),
        )
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


batch_size = 10
num_classes = 1000


def get_inputs():
    return [torch.rand(batch_size, 3, 224, 224)]


def get_init_inputs():
    return [num_classes]
