"""Scaled matrix product with a swish at the end."""

import torch
import torch.nn as nn

M = 24
K = 40
N = 56


class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, A, B):
        z = torch.matmul(A, B) * self.scale
        return z * torch.sigmoid(z)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return [0.25]
