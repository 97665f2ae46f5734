"""Attention over sentences of different lengths, by PyTorch's own function with a mask."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        steps = torch.arange(key.shape[2], device=key.device)
        mask = (steps[None, :] < lengths[:, None])[:, None, None, :]
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


batch_size = 32
heads = 12
steps = 384
width = 64


def get_inputs():
    return [
        *(torch.randn(batch_size, heads, steps, width) for _ in range(3)),
        torch.randint(steps // 4, steps + 1, (batch_size,)),
    ]


def get_init_inputs():
    return []
