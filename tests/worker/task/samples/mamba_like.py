import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, batch_size, seq_length, n_heads, d_head, d_state, block_len=64):
        super().__init__()
        assert seq_length % block_len == 0, "sequence must be whole blocks"
        self.n_heads, self.block_len = n_heads, block_len
        self.A = nn.Parameter(torch.randn(batch_size, seq_length, n_heads))
        self.B = nn.Parameter(torch.randn(batch_size, seq_length, n_heads, d_state))
        self.C = nn.Parameter(torch.randn(batch_size, seq_length, n_heads, d_state))

    def forward(self, X, initial_states=None):
        x, a, b, c = (t.reshape(t.shape[0], -1, self.block_len, *t.shape[2:]) for t in (X, self.A, self.B, self.C))
        decay = torch.exp(-torch.cumsum(torch.abs(a), dim=2))
        return torch.einsum("bclhn,bcshn,bcsh,bcshp->bclhp", c, b, decay, x)


batch_size = 2048
seq_length = 128
n_heads = 8
d_head = 64
d_state = 16
block_len = 64


def get_inputs():
    return [torch.rand(batch_size, seq_length, n_heads, d_head)]


def get_init_inputs():
    return [batch_size, seq_length, n_heads, d_head, d_state, block_len]
