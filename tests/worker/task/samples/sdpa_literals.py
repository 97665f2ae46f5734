import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def get_inputs():
    B, H, S, D = 32, 32, 512, 1024
    q = torch.rand(B, H, S, D)
    k = torch.rand(32, 32, 512, 1024)
    v = torch.rand(32, 32, 512, 1024)
    return [q, k, v]
