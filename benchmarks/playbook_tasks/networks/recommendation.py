"""A ranking model: dense features, embeddings of categories, their pairwise products, a deep head."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, dense: int, tables: int, rows: int, width: int):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(
            nn.Linear(dense, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU()
        )
        pairs = (tables + 1) * tables // 2
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, offset=-1))
        self.top = nn.Sequential(
            nn.Linear(width + pairs, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)
        )

    def forward(self, dense: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        rows = [table(categories[:, number]) for number, table in enumerate(self.embeddings)]
        features = torch.stack([x, *rows], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        chosen = products[:, self.pairs[0], self.pairs[1]]
        return torch.sigmoid(self.top(torch.cat([x, chosen], dim=1)))


batch_size = 8192
dense = 13
tables = 16
rows = 50000
width = 64


def get_inputs():
    return [torch.randn(batch_size, dense), torch.randint(0, rows, (batch_size, tables))]


def get_init_inputs():
    return [dense, tables, rows, width]
