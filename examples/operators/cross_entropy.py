"""The cross entropy of each row of logits with its target class."""

import torch
import torch.nn.functional as F

SHAPES = {"logits": ["M", "V"], "target": ["M"]}
INDICES = {"target": "V"}
PERFORMANCE = [{"M": 4096, "V": 32000}, {"M": 16384, "V": 4096}]


def cross_entropy(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, target, reduction="none")
