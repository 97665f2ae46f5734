import torch
import torch.nn as nn
import torch.nn.functional as F

from .config import ModelConfig


class RMSNorm(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.width))
        self.eps = config.norm_eps

    def forward(self, hidden):
        scale = torch.rsqrt(hidden.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (hidden.float() * scale).type_as(hidden) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.gate = nn.Linear(config.width, 2 * config.width, bias=False)
        self.up = nn.Linear(config.width, 2 * config.width, bias=False)
        self.down = nn.Linear(2 * config.width, config.width, bias=False)
        self.act = SiluGate()

    def forward(self, x):
        return self.down(self.act(self.gate(x), self.up(x)))


class SiluGate(nn.Module):
    def forward(self, gate, up):
        return F.silu(gate) * up


class Attention(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x, *, mask=None, cache=None):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = cache.extend(k, v)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None and cache is None)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class KVCache:
    def __init__(self):
        self.keys = self.values = None

    def extend(self, keys, values):
        if self.keys is not None:
            keys, values = torch.cat([self.keys, keys], 2), torch.cat([self.values, values], 2)
        self.keys, self.values = keys, values
        return keys, values


class Encoder(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.rnn = nn.GRU(config.width, config.width, num_layers=1, batch_first=True)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x):
        y, last = self.rnn(x)
        return self.drop(y), last
