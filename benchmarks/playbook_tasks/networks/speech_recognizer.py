"""Spectrograms through strided convolutions, a bidirectional GRU and log probabilities of letters."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, bands: int, width: int, letters: int):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 32, (11, 5), stride=(2, 2), padding=(5, 2), bias=False),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20, inplace=True),
            nn.Conv2d(32, 32, (11, 5), stride=(1, 2), padding=(5, 2), bias=False),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20, inplace=True),
        )
        self.recurrent = nn.GRU(32 * bands // 4, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, letters)
        self.eval()

    def forward(self, spectrogram: torch.Tensor) -> torch.Tensor:
        x = self.conv(spectrogram.unsqueeze(1))
        x = x.permute(0, 2, 1, 3).flatten(2)
        x, _ = self.recurrent(x)
        return F.log_softmax(self.head(x), dim=-1)


batch_size = 16
steps = 512
bands = 80
width = 512
letters = 29


def get_inputs():
    return [torch.randn(batch_size, steps, bands)]


def get_init_inputs():
    return [bands, width, letters]
