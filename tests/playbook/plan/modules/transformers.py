"""Transformer parts: norms, attention in three spellings, rotary embeddings, gates, caches."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        variance = x.float().pow(2).mean(-1, keepdim=True)
        return (x.float() * torch.rsqrt(variance + self.eps)).type_as(x) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, dim=32, hidden=48):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SelfAttention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).split(dim, dim=2)
        q = q.view(batch, length, self.heads, dim // self.heads).transpose(1, 2)
        k = k.view(batch, length, self.heads, dim // self.heads).transpose(1, 2)
        v = v.view(batch, length, self.heads, dim // self.heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).contiguous().view(batch, length, dim))


class PreNormBlock(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = SelfAttention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class PostNormBlock(nn.Module):
    def __init__(self, dim=32, dropout=0.0):
        super().__init__()
        self.attn = SelfAttention(dim)
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)
        self.ff = SwiGLU(dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = self.norm1(x + self.drop(self.attn(x)))
        return self.norm2(x + self.drop(self.ff(x)))


class AttentionByHand(nn.Module):
    def __init__(self, dim=32, heads=4, block_size=64):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(dim, 3 * dim)
        self.register_buffer(
            "bias", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size)
        )

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).chunk(3, dim=-1)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        return (att @ v).transpose(1, 2).contiguous().view(B, T, C)


class EncoderLayer(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, key_padding_mask=None):
        attended, _ = self.attn(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)
        return self.norm(x + attended)


class CrossAttention(nn.Module):
    """The weights are returned, too."""

    def __init__(self, dim=32, heads=2):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads)
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, x, context):
        y, weights = self.attn(x, context, context)
        return x + torch.tanh(self.gate) * y, weights


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


class Rotary(nn.Module):
    def __init__(self, dim=8, base=10000):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim)), persistent=False)

    def forward(self, q, k):
        t = torch.arange(q.shape[-2], device=q.device, dtype=self.inv_freq.dtype)
        freqs = torch.einsum("i,j->ij", t, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        cos, sin = emb.cos()[None, None], emb.sin()[None, None]
        return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


class ComplexRotary(nn.Module):
    """As llama does it: pairs are complex numbers."""

    def __init__(self, dim=8, length=12):
        super().__init__()
        freqs = 1.0 / (10000.0 ** (torch.arange(0, dim, 2).float() / dim))
        angles = torch.outer(torch.arange(length).float(), freqs)
        self.freqs_cis = torch.polar(torch.ones_like(angles), angles)

    def forward(self, x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.freqs_cis[:, None]).flatten(3).type_as(x)


def repeat_kv(x, times):
    batch, heads, length, dim = x.shape
    return x[:, :, None].expand(batch, heads, times, length, dim).reshape(batch, heads * times, length, dim)


class GroupedQueryAttention(nn.Module):
    def __init__(self, dim=32, heads=4, kv_heads=2):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, dim // heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x, mask=None):
        bsz, seqlen, _ = x.shape
        q = self.wq(x).view(bsz, seqlen, self.heads, self.head_dim).transpose(1, 2)
        k = self.wk(x).view(bsz, seqlen, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.wv(x).view(bsz, seqlen, self.kv_heads, self.head_dim).transpose(1, 2)
        k, v = repeat_kv(k, self.heads // self.kv_heads), repeat_kv(v, self.heads // self.kv_heads)
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores + mask
        scores = F.softmax(scores.float(), dim=-1).type_as(q)
        output = torch.matmul(scores, v).transpose(1, 2).reshape(bsz, seqlen, -1)
        return self.wo(output)


class CachedAttention(nn.Module):
    """One step of decoding: the cache is an argument, and what it becomes a result."""

    def __init__(self, dim=16):
        super().__init__()
        self.q, self.kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)
        self.scale = dim**-0.5

    def forward(self, x, cache):
        keys, values = cache
        key, value = self.kv(x).chunk(2, -1)
        keys, values = torch.cat([keys, key], 1), torch.cat([values, value], 1)
        weights = torch.softmax(self.q(x) @ keys.transpose(1, 2) * self.scale, -1)
        return weights @ values, (keys, values)


class CacheInPlace(nn.Module):
    """The cache is a buffer that is written into at a position."""

    def __init__(self, dim=16, length=10):
        super().__init__()
        self.kv = nn.Linear(dim, 2 * dim)
        self.register_buffer("k_cache", torch.zeros(2, length, dim))
        self.register_buffer("v_cache", torch.zeros(2, length, dim))

    def forward(self, x, input_pos):
        k, v = self.kv(x).chunk(2, -1)
        self.k_cache[:, input_pos] = k
        self.v_cache[:, input_pos] = v
        return F.silu(self.k_cache * 2) + self.v_cache


class CausalMaskInForward(nn.Module):
    def forward(self, scores):
        length = scores.shape[-1]
        mask = torch.full((length, length), float("-inf"), device=scores.device)
        mask = torch.triu(mask, diagonal=1)
        return F.softmax(scores * 0.125 + mask, dim=-1)


class AlibiBias(nn.Module):
    def __init__(self, heads=4):
        super().__init__()
        self.register_buffer("slopes", 2.0 ** -torch.arange(1, heads + 1).float())

    def forward(self, scores):
        positions = torch.arange(scores.shape[-1], device=scores.device)
        distance = (positions[None, :] - positions[:, None]).abs().neg()
        return torch.softmax(scores + self.slopes[:, None, None] * distance, dim=-1)


class PatchEmbedding(nn.Module):
    def __init__(self, dim=24, patch=4):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, patch, patch)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, 17, dim))

    def forward(self, images):
        x = self.proj(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        return x + self.pos_embed


class TinyLanguageModel(nn.Module):
    """Embeddings, blocks in a list, and a head that shares its weight with the embedding."""

    def __init__(self, vocabulary=50, dim=32, layers=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, dim), nn.Embedding(16, dim)
        self.blocks = nn.ModuleList(PreNormBlock(dim) for _ in range(layers))
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1], device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


class MixtureOfExperts(nn.Module):
    """Every token by all experts, weighted: no branch depends on values."""

    def __init__(self, dim=16, experts=3, top=2):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(SwiGLU(dim, 24) for _ in range(experts))
        self.top = top

    def forward(self, x):
        weights, chosen = torch.topk(torch.softmax(self.gate(x), -1), self.top)
        weights = weights / weights.sum(-1, keepdim=True)
        full = torch.zeros_like(self.gate(x)).scatter(-1, chosen, weights)
        return sum(full[..., i : i + 1] * expert(x) for i, expert in enumerate(self.experts))


class RoutedExperts(nn.Module):
    """Only the chosen tokens: how many they are is known from values alone."""

    def __init__(self, dim=16, experts=2):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(SwiGLU(dim, 24) for _ in range(experts))

    def forward(self, x):
        chosen = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = torch.where(chosen == i)[0]
            if rows.numel() > 0:
                out[rows] = expert(x[rows])
        return out


INPUTS = {
    "SwiGLU": lambda: [torch.randn(2, 12, 32)],
    "PreNormBlock": lambda: [torch.randn(2, 12, 32)],
    "PostNormBlock": lambda: [torch.randn(2, 12, 32)],
    "AttentionByHand": lambda: [torch.randn(2, 12, 32)],
    "EncoderLayer": lambda: [torch.randn(2, 12, 32), torch.zeros(2, 12, dtype=torch.bool)],
    "CrossAttention": lambda: [torch.randn(9, 2, 32), torch.randn(7, 2, 32)],
    "Rotary": lambda: [torch.randn(2, 3, 10, 8), torch.randn(2, 3, 10, 8)],
    "ComplexRotary": lambda: [torch.randn(2, 12, 3, 8)],
    "GroupedQueryAttention": lambda: [torch.randn(2, 12, 32), torch.zeros(12, 12)],
    "CachedAttention": lambda: [torch.randn(2, 1, 16), (torch.randn(2, 9, 16), torch.randn(2, 9, 16))],
    "CacheInPlace": lambda: [torch.randn(2, 1, 16), torch.tensor([3])],
    "CausalMaskInForward": lambda: [torch.randn(2, 3, 10, 10)],
    "AlibiBias": lambda: [torch.randn(2, 4, 10, 10)],
    "PatchEmbedding": lambda: [torch.randn(2, 3, 16, 16)],
    "TinyLanguageModel": lambda: [torch.randint(0, 50, (2, 10)), torch.randint(0, 50, (2, 10))],
    "MixtureOfExperts": lambda: [torch.randn(2, 6, 16)],
    "RoutedExperts": lambda: [torch.randn(12, 16)],
}
