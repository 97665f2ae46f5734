"""A classifier of sentences: embeddings, three widths of convolutions, the largest of each."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, filters: int, classes: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.convs = nn.ModuleList(nn.Conv1d(width, filters, kernel) for kernel in (3, 4, 5))
        self.fc = nn.Linear(3 * filters, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens).transpose(1, 2)
        pooled = [F.relu(conv(x)).max(dim=2).values for conv in self.convs]
        return self.fc(torch.cat(pooled, dim=1))


batch_size = 512
steps = 256
vocabulary = 50000
width = 300
filters = 128
classes = 5


def get_inputs():
    return [torch.randint(0, vocabulary, (batch_size, steps))]


def get_init_inputs():
    return [vocabulary, width, filters, classes]
