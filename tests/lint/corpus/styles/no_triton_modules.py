# kernel_type: no_triton
# complexity: low
# outcome: works
# finds: no-triton-launch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(x)))


def get_init_inputs():
    return [16]


def get_inputs():
    return [torch.randn(3, 16)]
