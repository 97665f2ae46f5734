from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from .cache import KeyValueCache
from .config import LlamaConfig


class RMSNorm(nn.Module):
    def __init__(self, hidden_size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        dtype = hidden.dtype
        hidden = hidden.to(torch.float32)
        variance = hidden.pow(2).mean(-1, keepdim=True)
        hidden = hidden * torch.rsqrt(variance + self.eps)
        return self.weight * hidden.to(dtype)


class RotaryEmbedding(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        steps = torch.arange(0, config.head_dim, 2).float() / config.head_dim
        angles = torch.outer(torch.arange(config.max_positions).float(), config.rope_theta**-steps)
        angles = torch.cat([angles, angles], dim=-1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, query: torch.Tensor, key: torch.Tensor, start: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        cos = self.cos[start : start + query.shape[2]]
        sin = self.sin[start : start + query.shape[2]]
        return query * cos + rotate_half(query) * sin, key * cos + rotate_half(key) * sin


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    left, right = x.chunk(2, dim=-1)
    return torch.cat([-right, left], dim=-1)


class Attention(nn.Module):
    def __init__(self, config: LlamaConfig, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self.head_dim = config.head_dim
        kv_size = config.num_key_value_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.rotary = RotaryEmbedding(config)

    def forward(
        self,
        hidden: torch.Tensor,
        mask: torch.Tensor | None = None,
        cache: KeyValueCache | None = None,
        start: int = 0,
    ) -> torch.Tensor:
        batch, length, _ = hidden.shape
        query = self._heads(self.q_proj(hidden))
        key, value = self._heads(self.k_proj(hidden)), self._heads(self.v_proj(hidden))
        query, key = self.rotary(query, key, start)
        if cache is not None:
            key, value = cache.update(self.layer, key, value)
        causal = mask is None and length > 1
        attended = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=causal, enable_gqa=True
        )
        return self.o_proj(attended.transpose(1, 2).reshape(batch, length, -1))

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:2], -1, self.head_dim).transpose(1, 2)


class SwiGLU(nn.Module):
    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return F.silu(gate) * up


class MLP(nn.Module):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        self.act = SwiGLU()

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.down_proj(self.act(self.gate_proj(hidden), self.up_proj(hidden)))


class DecoderBlock(nn.Module):
    def __init__(self, config: LlamaConfig, layer: int) -> None:
        super().__init__()
        self.input_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.attention = Attention(config, layer)
        self.post_attention_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.mlp = MLP(config)

    def forward(
        self,
        hidden: torch.Tensor,
        mask: torch.Tensor | None = None,
        cache: KeyValueCache | None = None,
        start: int = 0,
    ) -> torch.Tensor:
        hidden = hidden + self.attention(self.input_norm(hidden), mask=mask, cache=cache, start=start)
        return hidden + self.mlp(self.post_attention_norm(hidden))
