"""A guard lets through what a kernel was judged for, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from live_kernels import MARK, NORM, marked_card, swap_marked
from sample_package import ModelConfig
from sample_package.layers import RMSNorm
from torch import nn

from tilesmith.errors import TaskError
from tilesmith.live.calls.call_description import describe_call
from tilesmith.live.swaps.kernel_files import build_kernel
from tilesmith.live.swaps.swapping import swap_in

X = torch.randn(2, 3, 64, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def norm() -> RMSNorm:
    return RMSNorm(ModelConfig()).eval().requires_grad_(False)


def by_kernel(y: torch.Tensor) -> bool:
    return bool(y.float().mean() > MARK / 2)


class Subclass(torch.Tensor):
    pass


def set_eps(norm: RMSNorm) -> None:
    norm.eps = 0.5


def set_weight(norm: RMSNorm) -> None:
    norm.weight = nn.Parameter(norm.weight.half(), requires_grad=False)


INPUTS: dict[str, tuple[torch.Tensor, str]] = {
    "dtype": (X.half(), "hidden: not float32"),
    "shape": (X[:1], r"hidden: not of shape \[2, 3, 64\]"),
    "rank": (X[0], "hidden: not of shape"),
    "strides": (X.transpose(0, 1).contiguous().transpose(0, 1), "hidden: not contiguous"),
    "subclass": (X.as_subclass(Subclass), "hidden: not a plain tensor"),
    "meta": (X.to("meta"), "hidden: on another device"),
}
CHANGES: dict[str, tuple[Callable[[RMSNorm], Any], str]] = {
    "setting": (set_eps, "eps: not 1e-05"),
    "weight's dtype": (lambda norm: norm.double(), "weight: not as it was"),
    "another weight": (set_weight, "weight: not as it was"),
    "mode": (lambda norm: norm.train(), "not in evaluation mode"),
}


@pytest.mark.parametrize(("x", "reason"), INPUTS.values(), ids=INPUTS)
def test_other_inputs_miss(norm: RMSNorm, tmp_path: Path, x: torch.Tensor, reason: str) -> None:
    kernel = swap_marked(norm, tmp_path, X)
    if x.device.type == "meta":
        with pytest.raises(RuntimeError):
            norm(x)
    else:
        assert not by_kernel(norm(x).as_subclass(torch.Tensor))
    (told,) = kernel.misses_by_reason()
    assert re.match(reason, told)


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
def test_a_changed_module_misses(
    norm: RMSNorm, tmp_path: Path, change: Callable[[RMSNorm], Any], reason: str
) -> None:
    kernel = swap_marked(norm, tmp_path, X)
    change(norm)
    assert not by_kernel(norm(X))
    assert kernel.misses_by_reason() == {reason: 1}


def test_autocast_misses(norm: RMSNorm, tmp_path: Path) -> None:
    kernel = swap_marked(norm, tmp_path, X)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not by_kernel(norm(X))
    assert kernel.misses_by_reason() == {"autocast is on": 1}


def test_transforms_miss(norm: RMSNorm, tmp_path: Path) -> None:
    kernel = swap_marked(norm, tmp_path, X)
    assert not by_kernel(torch.vmap(norm)(X.expand(5, 2, 3, 64)))
    assert kernel.misses_by_reason() == {"inside a transform of torch.func": 1}


def test_functional_call_gives_the_kernel_its_weights(norm: RMSNorm, tmp_path: Path) -> None:
    swap_marked(norm, tmp_path, X)
    weight = nn.Parameter(torch.zeros(64), requires_grad=False)
    assert torch.equal(torch.func.functional_call(norm, {"weight": weight}, (X,)), torch.full_like(X, MARK))


def test_free_dimensions(norm: RMSNorm, tmp_path: Path) -> None:
    card = marked_card(norm, tmp_path, X)
    free = tuple(replace(one, shape=("n", "m", 64)) for one in card.spec.arguments)
    card = replace(card, spec=replace(card.spec, arguments=free))
    kernel = swap_in(norm, build_kernel(tmp_path / "best.py"), card)
    assert by_kernel(norm(X))
    assert by_kernel(norm(torch.randn(7, 1, 64)))
    assert not by_kernel(norm(torch.randn(2, 64)))
    norm(torch.randn(0, 1, 64))
    assert kernel.misses_by_reason() == {
        "hidden: not of shape [any, any, 64]": 1,
        "hidden: empty, or more than 2**31 elements": 1,
    }


class Add(nn.Module):
    def forward(self, x, kernel):
        return x + kernel


ADD = """
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x, kernel):
        return x + kernel + 1000.0
"""


def test_a_second_operand_that_differs_misses(tmp_path: Path) -> None:
    """Its name is one that a guard might use itself."""
    module, x = Add().eval(), torch.ones(3, 4)
    card = marked_card(module, tmp_path, x, x, text=ADD)
    free = tuple(replace(one, shape=("n", 4)) for one in card.spec.arguments)
    kernel = swap_in(
        module, build_kernel(tmp_path / "best.py"), replace(card, spec=replace(card.spec, arguments=free))
    )
    assert by_kernel(module(x, x))
    assert not by_kernel(module(x, x[:1])), "broadcast"
    assert not by_kernel(module(x, x.bfloat16()))
    with pytest.raises(RuntimeError):
        module(x, x.to("meta"))
    assert kernel.misses_by_reason() == {
        "kernel: not float32": 1,
        "kernel: not of shape [any, 4]": 1,
        "kernel: on another device than x": 1,
    }


class Typed(nn.Module):
    def forward(self, x, type):
        return getattr(torch, type)(x)


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4, bias=False)

    def forward(self, pair, *rest, scale=1.0, mask=None, **options):
        y = self.inner(pair[0]) + pair[1]
        return {"y": y * scale, "mask": mask}


PAIR = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Module()
        self.inner.weight = nn.Parameter(torch.ones(4, 4))

    def forward(self, pair, *rest, scale=1.0, mask=None, **options):
        return {"y": pair[0] @ self.inner.weight.T + pair[1] + 1000.0, "mask": mask}
"""


def test_nested_arguments_and_keywords(tmp_path: Path) -> None:
    module, x = Pair().eval().requires_grad_(False), torch.ones(3, 4)
    kernel = swap_marked(module, tmp_path, (x, x), scale=2.0, text=PAIR, key="value")
    assert by_kernel(module((x, x), scale=2.0, key="value")["y"])
    assert not by_kernel(module((x, x), scale=2.0)["y"])
    assert not by_kernel(module([x, x], scale=2.0, key="value")["y"])
    assert not by_kernel(module((x, x), x, scale=2.0, key="value")["y"])
    assert not by_kernel(module((x, x), scale=2, key="value")["y"])
    assert not by_kernel(module((x, x), scale=2.0, mask=x, key="value")["y"])
    assert kernel.misses_by_reason() == {
        "pair: another length": 1,
        "rest: another length": 1,
        "scale: not 2.0": 1,
        "mask: not None": 1,
        "options: other keys": 1,
    }


def test_a_hook_inside_is_not_left_out(tmp_path: Path) -> None:
    module, x = Pair().eval().requires_grad_(False), torch.ones(3, 4)
    kernel = swap_marked(module, tmp_path, (x, x), text=PAIR)
    assert by_kernel(module((x, x))["y"])
    hook = module.inner.register_forward_hook(lambda *_: None)
    assert not by_kernel(module((x, x))["y"])
    hook.remove()
    assert by_kernel(module((x, x))["y"])
    module.inner = nn.Linear(4, 4, bias=False).requires_grad_(False)
    assert not by_kernel(module((x, x))["y"])
    assert kernel.misses_by_reason() == {"inner: replaced, or with hooks that a kernel would leave out": 2}


def test_what_a_guard_cannot_describe_is_refused() -> None:
    with pytest.raises(TaskError, match="argument pair is a object"):
        describe_call(Pair(), (object(),), {})
    with pytest.raises(TaskError, match="without a tensor"):
        describe_call(Pair(), (1,), {})
    with pytest.raises(TaskError, match="its argument type hides"):
        describe_call(Typed(), (X, "relu"), {})


def test_compiled(norm: RMSNorm, tmp_path: Path) -> None:
    swap_marked(norm, tmp_path, X)
    compiled = torch.compile(norm, backend="eager", fullgraph=True)
    assert by_kernel(compiled(X))
    assert not by_kernel(compiled(X[:1]))
    norm.requires_grad_(True)
    assert not by_kernel(compiled(X))


def test_a_kernel_is_not_asked_twice(norm: RMSNorm, tmp_path: Path) -> None:
    kernel = swap_marked(norm, tmp_path, X, text=NORM)
    compiled = torch.compile(norm, backend="eager")
    for _ in range(20):
        compiled(X)
    assert kernel.hits[0] <= 2, "counting must not make torch.compile start again"
