from __future__ import annotations

from dataclasses import dataclass


@dataclass
class VitConfig:
    image_size: int = 224
    patch_size: int = 16
    channels: int = 3
    width: int = 768
    mlp_width: int = 3072
    num_layers: int = 12
    num_heads: int = 12
    num_classes: int = 1000
    norm_eps: float = 1e-5

    @property
    def num_patches(self) -> int:
        return (self.image_size // self.patch_size) ** 2
