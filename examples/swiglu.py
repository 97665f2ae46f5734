"""SwiGLU on two halves: a chain of elementwise operators that eager runs one by one."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return F.silu(gate) * value


tokens = 8192
width = 11008


def get_inputs():
    return [torch.randn(tokens, width), torch.randn(tokens, width)]
