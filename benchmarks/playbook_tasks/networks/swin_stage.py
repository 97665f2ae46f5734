"""Two blocks of a Swin transformer, the second with shifted windows, and the merging of patches."""

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, size: int, width: int, heads: int, window: int, shift: int):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.bias = nn.Parameter(torch.randn(heads, window**2, window**2) * 0.02)
        if shift:
            places = torch.arange(size)
            edge = places.ge(size - window).long() + places.ge(size - shift).long()
            regions = self.split((3 * edge[:, None] + edge[None, :]).view(1, size, size, 1)).squeeze(-1)
            mask = torch.where(regions[:, None, :] == regions[:, :, None], 0.0, -100.0)
            self.register_buffer("mask", mask[:, None])

    def split(self, x: torch.Tensor) -> torch.Tensor:
        batch, height, breadth, width = x.shape
        x = x.view(batch, height // self.window, self.window, breadth // self.window, self.window, width)
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, self.window**2, width)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, height, breadth, width = x.shape
        x = torch.roll(x, (-self.shift, -self.shift), dims=(1, 2)) if self.shift else x
        windows = self.split(x)
        qkv = self.qkv(windows).view(len(windows), self.window**2, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = qkv[0] @ qkv[1].transpose(-2, -1) * qkv.shape[-1] ** -0.5 + self.bias
        if self.shift:
            scores = (scores.view(batch, -1, *scores.shape[1:]) + self.mask).flatten(0, 1)
        mixed = scores.softmax(dim=-1) @ qkv[2]
        mixed = self.proj(mixed.transpose(1, 2).reshape(len(windows), self.window**2, width))
        x = mixed.view(batch, height // self.window, breadth // self.window, self.window, self.window, width)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(batch, height, breadth, width)
        return torch.roll(x, (self.shift, self.shift), dims=(1, 2)) if self.shift else x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, size: int, width: int, heads: int, window: int):
        super().__init__()
        self.block1 = Block(size, width, heads, window, 0)
        self.block2 = Block(size, width, heads, window, window // 2)
        self.norm, self.merge = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.block2(self.block1(x))
        corners = [x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]]
        return self.merge(self.norm(torch.cat(corners, dim=-1)))


batch_size = 16
size = 56
width = 96
heads = 3
window = 7


def get_inputs():
    return [torch.randn(batch_size, size, size, width)]


def get_init_inputs():
    return [size, width, heads, window]
