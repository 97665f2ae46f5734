"""The models at the sizes of the benchmark, with an example call and other calls that users would make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from .llama import KeyValueCache, Llama, LlamaConfig
from .tagger import Tagger, TaggerConfig
from .vit import VisionTransformer, VitConfig

SEED = 0


class Case(NamedTuple):
    """A model in evaluation mode, the call it is optimized for, and calls that must stay right."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    others: Mapping[str, Callable[[nn.Module], torch.Tensor]]

    @property
    def dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype


def build(name: str, small: bool, device: str) -> Case:
    """The same weights and inputs every time."""
    torch.manual_seed(SEED)
    return MODELS[name](small, device)


def logits_of(output: Any) -> torch.Tensor:
    if isinstance(output, torch.Tensor):
        return output
    return output["logits"] if isinstance(output, dict) else output.logits


def _llama(small: bool, device: str) -> Case:
    config, batch, length = LlamaConfig(), 8, 2048
    if small:
        config = LlamaConfig(96, 64, 96, num_layers=2, num_heads=4, num_key_value_heads=2, max_positions=32)
        batch, length = 2, 12
    model = Llama(config).to(device, torch.bfloat16).eval()
    tokens = torch.randint(0, config.vocab_size, (batch, length), device=device)
    mask = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    mask = mask & (torch.arange(length, device=device) > 2)  # as if the first tokens were padding
    mask[:, 0] = True

    def decode(one: nn.Module) -> torch.Tensor:
        cache = KeyValueCache(config.num_layers)
        one(tokens[:, :-1], cache=cache, logits_to_keep=1)
        return one(tokens[:, -1:], cache=cache).logits

    others = {
        "with a mask": lambda one: one(tokens, mask=mask, logits_to_keep=1).logits,
        "the next token, with a cache": decode,
        "one sequence": lambda one: one(tokens[:1], logits_to_keep=1).logits,
    }
    return Case(model, (tokens,), {"logits_to_keep": 1}, others)


def _tagger(small: bool, device: str) -> Case:
    """Without dropout, so that two training steps can be compared."""
    config, batch, length = TaggerConfig(dropout=0.0), 32, 256
    if small:
        config = TaggerConfig(50, 5, embedding_dim=24, hidden_size=136, dropout=0.0)
        batch, length = 2, 4
    model = Tagger(config).to(device).eval()
    tokens = torch.randint(1, config.vocab_size, (batch, length), device=device)
    lengths = torch.randint(1, length + 1, (batch,))
    others = {
        "with lengths": lambda one: one(tokens, lengths),
        "shorter": lambda one: one(tokens[:, : length // 2]),
    }
    return Case(model, (tokens,), {}, others)


def _vit(small: bool, device: str) -> Case:
    config, batch = VitConfig(), 64
    if small:
        config = VitConfig(32, 8, width=48, mlp_width=96, num_layers=2, num_heads=4, num_classes=10)
        batch = 2
    model = VisionTransformer(config).to(device, torch.bfloat16).eval()
    images = torch.randn(batch, config.channels, config.image_size, config.image_size, device=device)
    images = images.to(torch.bfloat16)
    others = {"one image": lambda one: one(images[:1].to(one.head.weight.dtype))["logits"]}
    return Case(model, (images,), {}, others)


MODELS = {"llama": _llama, "tagger": _tagger, "vit": _vit}
