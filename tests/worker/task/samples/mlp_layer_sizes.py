from itertools import pairwise

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size, layer_sizes, output_size):
        super().__init__()
        sizes = [input_size, *layer_sizes]
        layers = []
        for a, b in pairwise(sizes):
            layers += [nn.Linear(a, b), nn.ReLU()]
        self.network = nn.Sequential(*layers, nn.Linear(sizes[-1], output_size))

    def forward(self, x):
        return self.network(x)


batch_size = 128
input_size = 16384
layer_sizes = [16384] * 2
output_size = 8192


def get_inputs():
    return [torch.rand(batch_size, input_size)]


def get_init_inputs():
    return [input_size, layer_sizes, output_size]
