from __future__ import annotations

from dataclasses import dataclass


@dataclass
class LlamaConfig:
    vocab_size: int = 32_000
    hidden_size: int = 1024
    intermediate_size: int = 2816
    num_layers: int = 8
    num_heads: int = 16
    num_key_value_heads: int = 4
    max_positions: int = 4096
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-5

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_heads
