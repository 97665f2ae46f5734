import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_features, out_features, scale=1.0):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x):
        return self.linear(x) * self.scale


def get_inputs():
    return [torch.rand(1024, 4096)]


def get_init_inputs():
    return {"in_features": 4096, "out_features": 2048, "scale": 0.5}
