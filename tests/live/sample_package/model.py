import torch.nn as nn

from .config import ModelConfig
from .layers import Attention, Encoder, RMSNorm, SwiGLU


class Block(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(config), RMSNorm(config)
        self.attention, self.mlp = Attention(config), SwiGLU(config)

    def forward(self, x, mask=None, cache=None):
        x = x + self.attention(self.norm1(x), mask=mask, cache=cache)
        return x + self.mlp(self.norm2(x))


class TinyModel(nn.Module):
    def __init__(self, config: ModelConfig | None = None):
        super().__init__()
        self.config = config = config or ModelConfig()
        self.embed = nn.Embedding(config.vocab, config.width)
        self.encoder = Encoder(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config)
        self.head = nn.Linear(config.width, config.vocab, bias=False)

    def forward(self, ids, mask=None, caches=None):
        x, state = self.encoder(self.embed(ids))
        for number, block in enumerate(self.blocks):
            x = block(x, mask=mask, cache=caches[number] if caches is not None else None)
        return {"logits": self.head(self.norm(x)), "state": state}
