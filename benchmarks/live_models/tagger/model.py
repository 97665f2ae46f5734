from __future__ import annotations

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .config import TaggerConfig


class Encoder(nn.Module):
    def __init__(self, config: TaggerConfig) -> None:
        super().__init__()
        self.lstm = nn.LSTM(
            config.embedding_dim,
            config.hidden_size,
            num_layers=config.num_layers,
            dropout=config.dropout,
            bidirectional=config.bidirectional,
            batch_first=True,
        )

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        if lengths is None:
            return self.lstm(x)[0]
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.shape[1])[0]


class Tagger(nn.Module):
    def __init__(self, config: TaggerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_dim, padding_idx=config.padding)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(config)
        width = (2 if config.bidirectional else 1) * config.hidden_size
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, config.num_tags)

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        """`lengths` (on the CPU) of padded sequences: what lies behind them is not read."""
        embedded = self.dropout(self.embedding(tokens))
        return self.head(self.dropout(self.norm(self.encoder(embedded, lengths))))
