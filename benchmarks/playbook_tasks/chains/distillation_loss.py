"""The divergence of a student from its teacher, both softened."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def forward(self, student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
        log_q = F.log_softmax(student / self.temperature, dim=-1)
        p = F.softmax(teacher / self.temperature, dim=-1)
        return F.kl_div(log_q, p, reduction="batchmean") * self.temperature**2


rows = 8192
classes = 8000
temperature = 2.0


def get_inputs():
    return [torch.randn(rows, classes), torch.randn(rows, classes)]


def get_init_inputs():
    return [temperature]
