import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, hidden, heads, head_dim):
        super().__init__()
        assert hidden == heads * head_dim
        self.heads, self.head_dim = heads, head_dim
        self.project = nn.Linear(hidden, hidden)

    def forward(self, x):
        x = self.project(x).view(*x.shape[:2], self.heads, self.head_dim)
        return torch.softmax(x, dim=-1)


hidden = 4096
heads = 32
head_dim = 128
batch, length = 8, 2048


def get_inputs():
    return [torch.randn(batch, length, hidden)]


def get_init_inputs():
    return [hidden, heads, head_dim]
