"""TF32 where PyTorch would use it, and nowhere else."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tilesmith.config import PRECISIONS
from tilesmith.worker.truth.precision import Tf32Emulation, round_to_tf32, set_precision

X = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
W = torch.rand(4, 3, 3, 3, generator=torch.Generator().manual_seed(2))


def both(call, precision="default"):
    with torch.no_grad():
        plain = call()
        with Tf32Emulation(precision):
            return plain, call()


def changes(call, precision="default"):
    plain, emulated = both(call, precision)
    assert torch.allclose(plain, emulated, rtol=1e-2, atol=1e-2)
    return not torch.equal(plain, emulated)


@pytest.mark.parametrize(
    ("x", "rounded"),
    [
        (1.0, 1.0),
        (1 + 2**-10, 1 + 2**-10),
        (1 + 2**-12, 1.0),
        (1 + 2**-11, 1 + 2**-10),
        (-(1 + 2**-11), -(1 + 2**-10)),
        (1 + 2**-11 - 2**-23, 1.0),
        (2 - 2**-23, 2.0),
        (0.0, 0.0),
        (3.0 * 2**-100, 3.0 * 2**-100),
        (torch.inf, torch.inf),
        (-torch.inf, -torch.inf),
    ],
)
def test_rounding_of_known_numbers(x, rounded):
    assert float(round_to_tf32(torch.tensor([x]))[0]) == rounded


def test_rounding_keeps_nan_other_types_and_strides():
    assert bool(round_to_tf32(torch.tensor([torch.nan])).isnan())
    for dtype in (torch.float64, torch.bfloat16, torch.int32):
        x = torch.arange(1, 5).to(dtype)
        assert round_to_tf32(x) is x
    tall = torch.rand(5, 3).T
    assert torch.equal(round_to_tf32(tall), round_to_tf32(tall.contiguous()))


def test_rounding_errs_at_most_half_a_unit():
    x = torch.randn(10_000)
    relative = ((round_to_tf32(x) - x) / x).abs().max()
    assert 2**-12 < relative <= 2**-11


CONVOLUTION = lambda: F.conv2d(X, W)  # noqa: E731
PRODUCTS = {
    "matmul": lambda: X[0, 0] @ X[1, 0],
    "linear": lambda: F.linear(X[0, 0], X[1, 1]),
    "mm": lambda: torch.mm(X[0, 0], X[1, 2]),
    "bmm": lambda: torch.bmm(X[0], X[1]),
    "einsum": lambda: torch.einsum("ij,jk->ik", X[0, 0], X[1, 0]),
    "addmm": lambda: torch.addmm(X[0, 1], X[0, 0], X[1, 0]),
    "module": nn.Linear(8, 8, bias=False).requires_grad_(False).forward,
}


def product(name):
    call = PRODUCTS[name]
    return (lambda: call(X[0, 0])) if name == "module" else call


@pytest.mark.parametrize("name", PRODUCTS)
def test_matrix_products_only_when_asked_for(name):
    assert not changes(product(name))
    assert not changes(product(name), "ieee")
    assert changes(product(name), "tf32")


def test_convolutions_by_default():
    assert changes(CONVOLUTION)
    assert not changes(CONVOLUTION, "ieee")
    assert changes(CONVOLUTION, "tf32")


@pytest.mark.parametrize("kind", [nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d])
def test_convolution_modules(kind):
    torch.manual_seed(0)
    module = kind(3, 4, 3)
    dimensions = 1 if kind is nn.Conv1d else 3 if kind is nn.Conv3d else 2
    x = torch.rand(2, 3, *[6] * dimensions)
    assert changes(lambda: module(x))


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
def test_recurrent_modules(kind):
    torch.manual_seed(0)
    module, x = kind(8, 8), torch.rand(5, 2, 8)
    assert changes(lambda: module(x)[0])
    assert not changes(lambda: module(x)[0], "ieee")


def test_a_convolution_is_that_of_the_rounded_operands():
    _, emulated = both(CONVOLUTION)
    assert torch.equal(emulated, F.conv2d(round_to_tf32(X), round_to_tf32(W)))


def test_it_does_not_matter_how_the_operands_are_passed():
    _, by_position = both(lambda: F.conv2d(X, W))
    _, by_name = both(lambda: F.conv2d(input=X, weight=W))
    assert torch.equal(by_position, by_name)


def test_a_bias_is_added_in_full_precision():
    bias = torch.full((4,), 1 + 2**-13)
    _, emulated = both(lambda: F.conv2d(X, torch.zeros_like(W), bias))
    assert torch.equal(emulated.unique(), bias[:1])


def test_other_operators_are_left_alone():
    assert not changes(lambda: (X * X).sum(-1).exp())


@pytest.mark.parametrize(
    ("precision", "matmul", "cudnn"), [("default", False, True), ("ieee", False, False), ("tf32", True, True)]
)
def test_the_switches_of_pytorch(precision, matmul, cudnn):
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    try:
        set_precision(precision)
        assert torch.backends.cuda.matmul.allow_tf32 is matmul
        assert torch.backends.cudnn.allow_tf32 is cudnn
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
    assert precision in PRECISIONS
