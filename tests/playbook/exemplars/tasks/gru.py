"""Two GRU layers over a short sequence: small enough to be judged without a GPU in seconds."""

import torch
import torch.nn as nn

BATCH = 6
STEPS = 12
INPUTS = 24
HIDDEN = 48
LAYERS = 2


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, num_layers)

    def forward(self, x, h0):
        output, _ = self.gru(x, h0)
        return output


def get_inputs():
    return [torch.randn(STEPS, BATCH, INPUTS), torch.randn(LAYERS, BATCH, HIDDEN)]


def get_init_inputs():
    return [INPUTS, HIDDEN, LAYERS]
