"""Outputs and last states of a plain recurrent network with ReLU, two layers."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super().__init__()
        self.rnn = nn.RNN(input_size, hidden_size, num_layers, nonlinearity="relu")

    def forward(self, x, h0):
        output, h_n = self.rnn(x, h0)
        return output, h_n


seq_len = 7
batch_size = 4
input_size = 12
hidden_size = 24
num_layers = 2


def get_inputs():
    return [torch.randn(seq_len, batch_size, input_size), torch.randn(num_layers, batch_size, hidden_size)]


def get_init_inputs():
    return [input_size, hidden_size, num_layers]
