"""The last hidden states of a bidirectional GRU, one layer."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, bidirectional=True)

    def forward(self, x, h0):
        _, h_n = self.gru(x, h0)
        return h_n


seq_len = 6
batch_size = 4
input_size = 12
hidden_size = 24


def get_inputs():
    return [torch.randn(seq_len, batch_size, input_size), torch.randn(2, batch_size, hidden_size)]


def get_init_inputs():
    return [input_size, hidden_size]
