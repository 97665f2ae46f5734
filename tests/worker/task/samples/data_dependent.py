import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        if x.sum().item() > 0:
            return torch.relu(x)
        return torch.tanh(x)


ROWS: int = 8192
COLUMNS: int = 2**12


def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]
