import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, scores, target):
        return nn.functional.cross_entropy(scores, target)


batch_size = 32768
num_classes = 4096


def get_inputs():
    return [torch.rand(batch_size, num_classes), torch.randint(0, num_classes, (batch_size,))]


def get_init_inputs():
    return []
