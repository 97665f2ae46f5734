"""What commands are told: a function that makes the model, and functions that make its inputs."""

import torch

from .model import TinyModel


def make_model():
    print("making the model")
    return TinyModel()


def make_batch():
    return [torch.arange(6).reshape(2, 3)]


def make_wrong_batch():
    return [torch.rand(2, 3)]
