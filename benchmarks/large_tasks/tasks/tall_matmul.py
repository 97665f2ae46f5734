"""A tall matrix of 2.4 GB is multiplied by a small one."""

import torch
import torch.nn as nn

M = 2300000
K = 256
N = 16


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A, B)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
