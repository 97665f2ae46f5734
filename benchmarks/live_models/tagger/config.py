from __future__ import annotations

from dataclasses import dataclass


@dataclass
class TaggerConfig:
    vocab_size: int = 30_000
    num_tags: int = 48
    embedding_dim: int = 256
    hidden_size: int = 256
    num_layers: int = 2
    bidirectional: bool = True
    dropout: float = 0.3
    padding: int = 0
