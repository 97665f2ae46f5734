"""All outputs of a plain recurrent network with tanh, one layer."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.rnn = nn.RNN(input_size, hidden_size, nonlinearity="tanh")

    def forward(self, x, h0):
        output, _ = self.rnn(x, h0)
        return output


seq_len = 10
batch_size = 5
input_size = 18
hidden_size = 32


def get_inputs():
    return [torch.randn(seq_len, batch_size, input_size), torch.randn(1, batch_size, hidden_size)]


def get_init_inputs():
    return [input_size, hidden_size]
