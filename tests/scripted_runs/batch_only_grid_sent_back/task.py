"""The last cell states of an LSTM, batch first."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)

    def forward(self, x, h0, c0):
        _, (_, c_n) = self.lstm(x, (h0, c0))
        return c_n


batch_size = 4
seq_len = 5
input_size = 10
hidden_size = 20
num_layers = 1


def get_inputs():
    return [
        torch.randn(batch_size, seq_len, input_size),
        torch.randn(num_layers, batch_size, hidden_size),
        torch.randn(num_layers, batch_size, hidden_size),
    ]


def get_init_inputs():
    return [input_size, hidden_size, num_layers]
