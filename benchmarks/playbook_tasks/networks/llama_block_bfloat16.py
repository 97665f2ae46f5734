"""A decoder layer in bfloat16: RMS norm, rotary positions, shared key heads, a gated feed-forward layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


class Model(nn.Module):
    def __init__(self, width: int, heads: int, shared_heads: int, hidden: int, most_steps: int):
        super().__init__()
        self.heads, self.shared_heads, self.size = heads, shared_heads, width // heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.wq = nn.Linear(width, width, bias=False)
        self.wk = nn.Linear(width, shared_heads * self.size, bias=False)
        self.wv = nn.Linear(width, shared_heads * self.size, bias=False)
        self.wo = nn.Linear(width, width, bias=False)
        self.w1, self.w3 = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)
        rates = 10000.0 ** (-torch.arange(0, self.size, 2).float() / self.size)
        angles = torch.outer(torch.arange(most_steps).float(), rates).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.to(torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, width = x.shape
        normed = self.norm1(x)
        query = self.wq(normed).view(batch, steps, self.heads, self.size).transpose(1, 2)
        key = self.wk(normed).view(batch, steps, self.shared_heads, self.size).transpose(1, 2)
        value = self.wv(normed).view(batch, steps, self.shared_heads, self.size).transpose(1, 2)
        cos, sin = self.cos[:steps], self.sin[:steps]
        query, key = rotate(query, cos, sin), rotate(key, cos, sin)
        repeats = self.heads // self.shared_heads
        key, value = key.repeat_interleave(repeats, dim=1), value.repeat_interleave(repeats, dim=1)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.wo(mixed.transpose(1, 2).reshape(batch, steps, width))
        normed = self.norm2(x)
        return x + self.w2(F.silu(self.w1(normed)) * self.w3(normed))


batch_size = 4
steps = 1024
width = 2048
heads = 32
shared_heads = 8
hidden = 5632
most_steps = 2048


def get_inputs():
    return [torch.randn(batch_size, steps, width, dtype=torch.bfloat16)]


def get_init_inputs():
    return [width, heads, shared_heads, hidden, most_steps]
