"""One step of a gated recurrent unit for many sequences, written out."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.of_input, self.of_state = nn.Linear(width, 3 * hidden), nn.Linear(hidden, 3 * hidden)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        reset_x, update_x, new_x = self.of_input(x).chunk(3, dim=1)
        reset_h, update_h, new_h = self.of_state(state).chunk(3, dim=1)
        reset, update = torch.sigmoid(reset_x + reset_h), torch.sigmoid(update_x + update_h)
        new = torch.tanh(new_x + reset * new_h)
        return new + update * (state - new)


rows = 8192
width = 1024
hidden = 1024


def get_inputs():
    return [torch.randn(rows, width), torch.randn(rows, hidden)]


def get_init_inputs():
    return [width, hidden]
