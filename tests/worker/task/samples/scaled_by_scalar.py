import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, s):
        return x * s


M = 16384 * 4
N = 4096 * 4
s = 3.14


def get_inputs():
    return [torch.rand(M, N), s]


def get_init_inputs():
    return []
