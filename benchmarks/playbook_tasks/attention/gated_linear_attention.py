"""Linear attention step by step, whose sums decay by a gate for each head and step."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, gate: torch.Tensor
    ) -> torch.Tensor:
        batch, steps, heads, width = query.shape
        decay = torch.sigmoid(gate + 4)[..., None, None]
        state = query.new_zeros(batch, heads, width, value.shape[-1])
        outputs = []
        for step in range(steps):
            state = decay[:, step] * state + key[:, step, :, :, None] * value[:, step, :, None, :]
            outputs.append((query[:, step, :, None, :] @ state).squeeze(-2))
        return torch.stack(outputs, dim=1)


batch_size = 8
steps = 128
heads = 16
width = 64


def get_inputs():
    return [
        *(torch.randn(batch_size, steps, heads, width) for _ in range(3)),
        torch.randn(batch_size, steps, heads),
    ]


def get_init_inputs():
    return []
