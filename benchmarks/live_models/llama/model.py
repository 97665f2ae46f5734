from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn

from .cache import KeyValueCache
from .config import LlamaConfig
from .layers import DecoderBlock, RMSNorm


@dataclass
class CausalOutput:
    logits: torch.Tensor
    cache: KeyValueCache | None = None


class Llama(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(DecoderBlock(config, number) for number in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)

    def forward(
        self,
        tokens: torch.Tensor,
        mask: torch.Tensor | None = None,
        cache: KeyValueCache | None = None,
        logits_to_keep: int = 0,
    ) -> CausalOutput:
        """`logits_to_keep`: positions at the end of the sequence to predict from; 0 for all."""
        start = cache.length if cache is not None else 0
        hidden = self.embed_tokens(tokens)
        for layer in self.layers:
            hidden = layer(hidden, mask=mask, cache=cache, start=start)
        hidden = self.norm(hidden)
        return CausalOutput(self.lm_head(hidden[:, -logits_to_keep:]), cache)
