"""The triplet margin loss of three batches of embeddings."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.TripletMarginLoss(margin=1.0)

    def forward(self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
        return self.loss(anchor, positive, negative)


rows = 131_072
width = 256


def get_inputs():
    return [torch.randn(rows, width), torch.randn(rows, width), torch.randn(rows, width)]


def get_init_inputs():
    return []
