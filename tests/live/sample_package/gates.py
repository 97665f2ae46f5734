"""Blocks that know their number, one module both inside them and beside them, and two that nobody can optimize."""

import torch
import torch.nn as nn

from .layers import KVCache


class Squash(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class NumberedGate(nn.Module):
    def __init__(self, number: int):
        super().__init__()
        self.number = number
        self.squash = Squash()

    def forward(self, x):
        return torch.relu(self.squash(x)) + x


class WholeNumbers(nn.Module):
    def forward(self, x):
        if not torch.equal(x, x.round()):
            raise ValueError("whole numbers only")
        return x * 2


class Remembering(nn.Module):
    def forward(self, x, cache):
        return x + len(vars(cache))


class GatedModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.whole = WholeNumbers()
        self.squash = Squash()
        self.gates = nn.ModuleList(NumberedGate(number) for number in range(3))
        self.mix = nn.Linear(16, 16)
        self.remembering = Remembering()

    def forward(self, x):
        x = self.squash(self.whole(x))
        for gate in self.gates:
            x = gate(self.mix(x))
        return self.remembering(x, KVCache())
