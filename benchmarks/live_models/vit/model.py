from __future__ import annotations

import torch
import torch.nn as nn

from .config import VitConfig
from .layers import Block, LayerNorm, PatchEmbedding


class VisionTransformer(nn.Module):
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = PatchEmbedding(config)
        self.pre_norm = LayerNorm(config.width, config.norm_eps)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.post_norm = LayerNorm(config.width, config.norm_eps)
        self.head = nn.Linear(config.width, config.num_classes)

    def forward(self, images: torch.Tensor, mask: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        x = self.pre_norm(self.embedding(images))
        for block in self.blocks:
            x = block(x, mask)
        pooled = self.post_norm(x)[:, 0]
        return {"logits": self.head(pooled), "pooled": pooled}
