import torch
import torch.nn as nn

config = {"channels": 512, "groups": 32}


class Model(nn.Module):
    def __init__(self, channels, groups=1):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.rand(16, config["channels"], 64, 64)]


def get_init_inputs():
    return [[config["channels"]], {"groups": config["groups"]}]
