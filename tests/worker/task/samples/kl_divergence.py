import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, p, q):
        return torch.nn.functional.kl_div(torch.log(p), q, reduction="batchmean")


batch_size = 8192 * 2
input_shape = (8192 * 2,)
dim = 1


def get_inputs():
    return [
        torch.rand(batch_size, *input_shape).softmax(dim=-1),
        torch.rand(batch_size, *input_shape).softmax(dim=-1),
    ]


def get_init_inputs():
    return []
