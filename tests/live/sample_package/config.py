from dataclasses import dataclass


@dataclass
class ModelConfig:
    vocab: int = 50
    width: int = 64
    heads: int = 4
    layers: int = 2
    norm_eps: float = 1e-5
    dropout: float = 0.1
