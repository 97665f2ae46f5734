# kernel_type: no_triton
# complexity: low
# outcome: works
# finds: no-triton-launch
"""torch.compile writes kernels of its own; none of them is in this file."""
import torch
import torch.nn as nn


@torch.compile(mode="max-autotune")
def fused(x, weight, bias):
    y = x @ weight + bias
    return y * torch.sigmoid(y)


class ModelNew(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(a, b))
        self.bias = nn.Parameter(torch.zeros(b))

    def forward(self, x):
        return fused(x, self.weight, self.bias)


def get_init_inputs():
    return [12, 20]


def get_inputs():
    return [torch.randn(5, 12)]
