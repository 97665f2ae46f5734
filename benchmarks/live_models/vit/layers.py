from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from .config import VitConfig


class LayerNorm(nn.LayerNorm):
    """Computes in float32, whatever the model's dtype."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = F.layer_norm(x.float(), self.normalized_shape, self.weight.float(), self.bias.float(), self.eps)
        return normed.type_as(x)


class QuickGELU(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(1.702 * x)


class PatchEmbedding(nn.Module):
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        size = config.patch_size
        self.proj = nn.Conv2d(config.channels, config.width, kernel_size=size, stride=size, bias=False)
        self.class_token = nn.Parameter(torch.randn(config.width) * 0.02)
        self.positions = nn.Parameter(torch.randn(config.num_patches + 1, config.width) * 0.02)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        patches = self.proj(images).flatten(2).transpose(1, 2)
        first = self.class_token.expand(patches.shape[0], 1, -1)
        return torch.cat([first, patches], dim=1) + self.positions


class Attention(nn.Module):
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.proj = nn.Linear(config.width, config.width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.proj(attended.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.norm1 = LayerNorm(config.width, config.norm_eps)
        self.attention = Attention(config)
        self.norm2 = LayerNorm(config.width, config.norm_eps)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, config.mlp_width), QuickGELU(), nn.Linear(config.mlp_width, config.width)
        )

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))
