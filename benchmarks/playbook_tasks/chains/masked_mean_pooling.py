"""Sentence embeddings: the mean over real tokens, brought to length one."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        mask = mask.unsqueeze(-1).to(x.dtype)
        pooled = (x * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1e-9)
        return F.normalize(pooled, dim=1)


batch_size = 256
steps = 512
width = 768


def get_inputs():
    return [torch.randn(batch_size, steps, width), (torch.rand(batch_size, steps) < 0.8).long()]


def get_init_inputs():
    return []
