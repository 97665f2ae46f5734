"""The last hidden state of a plain recurrent network with tanh, one layer, batch first."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.rnn = nn.RNN(input_size, hidden_size, batch_first=True)

    def forward(self, x):
        _, h_n = self.rnn(x)
        return h_n


batch_size = 4
seq_len = 9
input_size = 12
hidden_size = 32


def get_inputs():
    return [torch.randn(batch_size, seq_len, input_size)]


def get_init_inputs():
    return [input_size, hidden_size]
