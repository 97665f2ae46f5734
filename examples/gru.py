"""Six GRU layers over 512 steps: thousands of small dependent products, launch-bound in eager."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size: int, hidden_size: int, num_layers: int):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, num_layers)

    def forward(self, x: torch.Tensor, h0: torch.Tensor) -> torch.Tensor:
        output, _ = self.gru(x, h0)
        return output


batch_size = 10
sequence_length = 512
input_size = 128
hidden_size = 256
num_layers = 6


def get_inputs():
    return [
        torch.randn(sequence_length, batch_size, input_size),
        torch.randn(num_layers, batch_size, hidden_size),
    ]


def get_init_inputs():
    return [input_size, hidden_size, num_layers]
