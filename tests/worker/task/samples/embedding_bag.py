import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_classes):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, tokens):
        return self.head(self.embed(tokens).mean(dim=1))


batch_size = 64
seq_len = 512
vocab_size = 50257
embed_dim = 768
num_classes = 10


def get_inputs():
    return [torch.randint(0, vocab_size, (batch_size, seq_len))]


def get_init_inputs():
    return [vocab_size, embed_dim, num_classes]
