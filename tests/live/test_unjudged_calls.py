"""What changes around a swapped module, and whatever a trace did not see, never reaches a kernel."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from live_kernels import MARK, swap_marked
from torch import nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode

from tilesmith.errors import TaskError, UsageError
from tilesmith.live.captured.module_tasks import refuse_other_code, write_task
from tilesmith.live.capturing import CapturedCalls, capture_calls
from tilesmith.live.optimizing import install_kernel
from tilesmith.live.swaps.swapping import GuardedKernel

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
OUTSIDE = torch.ones(8)


class Settings:
    """A configuration that computes, and is called."""

    def __init__(self) -> None:
        self.power, self.deeper, self._gain, self._sign = 1, SimpleNamespace(gain=1.0), 1.0, 1.0

    @property
    def gain(self) -> float:
        return self._gain

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self.signed(x)

    def signed(self, x: torch.Tensor) -> torch.Tensor:
        return x * self._sign


class Scale(nn.Module):
    offset = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.register_buffer("mask", None)
        self._shift, self.activation, self.factors, self.functions = 1.0, F.relu, [1.0, 2.0], {"last": [F.relu]}
        self.config = Settings()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.activation(x * self.weight) ** self.config.power * self.factors[0] + self._shift + self.offset
        y = self.config(y) * self.config.gain * self.config.deeper.gain * getattr(self, "extra", 1.0)
        return self.functions["last"][0](self.limit(y if self.mask is None else y * self.mask))

    def limit(self, y: torch.Tensor) -> torch.Tensor:
        return y.clamp(max=9.0)


class Inner(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.relu()


def swap(module: nn.Module, folder: Path, result: str = "1000.0 + 0 * x", grad: str = "fallback") -> GuardedKernel:
    """A kernel that has the module's tensors by name."""
    lines = ["from torch import nn, zeros", "class ModelNew(nn.Module):", "    def __init__(self):"]
    lines.append("        super().__init__()")
    for name, one in module.named_modules():
        owner = f"self.get_submodule({name!r})" if name else "self"
        parent, _, key = name.rpartition(".")
        lines += [f"        self.get_submodule({parent!r}).add_module({key!r}, nn.Module())"] if name else []
        for key, _tensor in one.named_parameters(recurse=False):
            lines.append(f"        {owner}.register_parameter({key!r}, nn.Parameter(zeros(1)))")
        for key, _tensor in one.named_buffers(recurse=False):
            lines.append(f"        {owner}.register_buffer({key!r}, zeros(1))")
    text = "\n".join([*lines, "    def forward(self, x):", f"        return {result}", ""])
    return swap_marked(module, folder, X, text=text, grad=grad)


def by_kernel(y: torch.Tensor) -> bool:
    return bool(y.detach().mean() > MARK / 2)


def set_item(module: Any) -> None:
    module.factors[0] = 3.0


def set_function(module: Any) -> None:
    module.functions["last"][0] = F.gelu


CHANGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "strides of a weight": (lambda m: setattr(m.weight, "data", torch.ones(16)[::2]), "weight: not as it was"),
    "private setting": (lambda m: setattr(m, "_shift", 2.0), "_shift: not 1.0"),
    "setting of the class": (lambda m: setattr(m, "offset", 2.0), "offset: not 0.0"),
    "a tensor as a setting": (lambda m: setattr(m, "_shift", torch.ones(8)), "_shift: not 1.0"),
    "function": (lambda m: setattr(m, "activation", F.gelu), "activation: not as it was"),
    "list": (set_item, "factors: not as it was"),
    "list of functions": (set_function, "functions: not as it was"),
    "configuration": (lambda m: setattr(m.config, "power", 2), "config.power: not 1"),
    "another configuration": (lambda m: setattr(m, "config", Settings()), "config: not as it was"),
    "inside a configuration": (lambda m: setattr(m.config.deeper, "gain", 2.0), "config.deeper.gain: not 1.0"),
    "property": (lambda m: setattr(m.config, "_gain", 2.0), "config._gain: not 1.0"),
    "object that is called": (lambda m: setattr(m.config, "_sign", 2.0), "config._sign: not 1.0"),
    "what getattr finds": (lambda m: setattr(m, "extra", 2.0), "the module: has what its code looks for"),
    "method": (lambda m: setattr(m, "limit", torch.tanh), "the module: has what its code looks for"),
    "a buffer where there was none": (lambda m: setattr(m, "mask", torch.zeros(8)), "the module: mask was added"),
    "class": (lambda m: setattr(m, "__class__", type("Other", (Scale,), {"forward": Inner.forward})), "its class"),
}


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
def test_a_changed_module_misses(tmp_path: Path, change: Callable[[Any], Any], reason: str) -> None:
    module = Scale().eval().requires_grad_(False)
    kernel = swap(module, tmp_path)
    assert by_kernel(module(X))
    change(module)
    assert not by_kernel(module(X))
    assert [why.startswith(reason) for why in kernel.misses_by_reason()] == [True]


INSIDE: dict[str, Callable[[nn.Sequential], Any]] = {
    "one more": lambda m: m.append(nn.Tanh()),
    "another class": lambda m: setattr(m[0], "__class__", nn.Tanh),
    "another forward": lambda m: setattr(m[0], "forward", torch.tanh),
    "mode": lambda m: m[0].train(),
}


@pytest.mark.parametrize("change", INSIDE.values(), ids=INSIDE)
def test_a_change_inside_misses(tmp_path: Path, change: Callable[[nn.Sequential], Any]) -> None:
    module = nn.Sequential(Inner()).eval()
    swap(module, tmp_path)
    assert by_kernel(module(X))
    change(module)
    assert not by_kernel(module(X))


def test_hooks_of_all_modules_are_not_left_out(tmp_path: Path) -> None:
    module = nn.Sequential(Inner()).eval()
    swap(module, tmp_path)
    hook = nn.modules.module.register_module_forward_hook(lambda module, args, output: output)
    try:
        assert not by_kernel(module(X))
    finally:
        hook.remove()
    assert by_kernel(module(X))


def test_what_a_kernel_would_be_invisible_to_misses(tmp_path: Path) -> None:
    module = Scale().eval().requires_grad_(False)
    kernel = swap(module, tmp_path)
    assert by_kernel(module(X))
    assert not by_kernel(torch.jit.trace(module, (X,), check_trace=False)(X))
    assert not by_kernel(make_fx(lambda x: module(x))(X)(X))
    with FlopCounterMode(display=False):
        assert not by_kernel(module(X))
    assert not by_kernel(module(torch._neg_view(X)))
    with torch.no_grad(), forward_ad.dual_level():
        assert not by_kernel(module(forward_ad.make_dual(X, torch.ones_like(X))))
    assert not by_kernel(torch.compile(torch.vmap(module), backend="eager")(X.expand(3, 4, 8)))
    assert not by_kernel(torch.export.export(module, (X,)).module()(X))
    assert set(kernel.misses_by_reason()) >= {
        "inside torch.jit.trace or a TorchDispatchMode",
        "a view that torch negates when it is read",
        "forward-mode gradients are needed, and the kernel has none",
    }


def test_calls_that_were_seen_before_are_told_from_others(tmp_path: Path) -> None:
    """After a call has passed, tensors are asked about in one step."""
    module = Scale().eval().requires_grad_(False)
    swap(module, tmp_path)
    for _ in range(2):
        assert by_kernel(module(X))
        with torch.inference_mode():
            assert by_kernel(module(X))
        assert not by_kernel(module(X.double()))
        assert not by_kernel(module(X[:2]))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert not by_kernel(module(X))
        module.weight.requires_grad_(True)
        assert not by_kernel(module(X))
        module.weight.requires_grad_(False)


def test_undo_reaches_a_forward_that_somebody_wrapped(tmp_path: Path) -> None:
    module = Scale().eval().requires_grad_(False)
    kernel = swap(module, tmp_path)
    swapped = module.forward
    module.forward = lambda x: swapped(x)
    assert by_kernel(module(X))
    kernel.remove()
    assert not by_kernel(module(X))


class Cubed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.register_buffer("mask", torch.ones(8))
        self.factor = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.weight * self.mask) ** 3 * (self.factor if not self.training else 7.0)


def recomputed(tmp_path: Path) -> tuple[Any, torch.Tensor, torch.Tensor]:
    module, x = Cubed().eval(), X.clone().requires_grad_()
    swap(module, tmp_path, "(x * self.weight * self.mask) ** 3", "recompute")
    return module, x, module(x).sum()


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.layers = [self.inner]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers[0](x)


BETWEEN: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda m: None,
    "mode": lambda m: m.train(),
    "setting": lambda m: setattr(m, "factor", 5.0),
    "weight": lambda m: setattr(m, "weight", nn.Parameter(torch.zeros(8))),
}


@pytest.mark.parametrize("change", BETWEEN.values(), ids=BETWEEN)
def test_gradients_are_those_of_the_call(tmp_path: Path, change: Callable[[Any], Any]) -> None:
    module, x, y = recomputed(tmp_path)
    change(module)
    y.backward()
    torch.testing.assert_close(x.grad, 3 * X**2)


def test_a_hook_on_a_parameter_runs_once(tmp_path: Path) -> None:
    module, _, y = recomputed(tmp_path)
    module.weight.register_hook(lambda gradient: gradient * 0.5)
    y.backward()
    torch.testing.assert_close(module.weight.grad, 1.5 * (X**3).sum(0))


def test_gradients_that_cannot_be_right_are_refused(tmp_path: Path) -> None:
    module, x, y = recomputed(tmp_path)
    with pytest.raises(RuntimeError, match="have none of their own"):
        torch.autograd.grad(y, x, create_graph=True)
    module = Listed()
    swap(module, tmp_path, "x @ self.inner.weight.T + self.inner.bias", "recompute")
    with pytest.raises(RuntimeError, match="reaches its parameters around itself"):
        module(X).sum().backward()
    module, _, y = recomputed(tmp_path)
    module.mask.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


class Difference(nn.Module):
    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return left - 2 * right


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


def test_one_tensor_in_two_places_is_two_in_the_task() -> None:
    body = write_task(Difference(), (X, X), {}, ()).body
    assert "aten.sub.Tensor(left, mul)" in body
    assert "aten.mul.Tensor(right, 2)" in body
    body = write_task(Tied().eval(), (X,), {}, ()).body
    assert "self.first.weight" in body
    assert "self.second.weight" in body


class Refused(nn.Module):
    def __init__(self, do: Callable[[Any, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.do, self.log, self.notes = do, [], SimpleNamespace(calls=0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.do(self, x)


def remember(module: Any, x: torch.Tensor) -> torch.Tensor:
    module.log.append(1)
    return x.relu()


def count(module: Any, x: torch.Tensor) -> torch.Tensor:
    module.notes.calls += 1
    return x.relu()


REFUSED: dict[str, tuple[Callable[[Any, torch.Tensor], torch.Tensor], str]] = {
    "list": (remember, "keeps something on itself"),
    "object": (count, "keeps something on itself"),
    "chance": (lambda m, x: x.relu() if random.random() < 2 else x, "random numbers outside of torch"),
    "global": (lambda m, x: x + OUTSIDE, "neither an argument nor its own"),
}


@pytest.mark.parametrize(("do", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_a_kernel_would_leave_out_is_refused(do: Any, reason: str) -> None:
    (group,) = capture_calls(Refused(do).eval(), (X,), {}).groups
    assert reason in str(group.task().reason)


def test_tensors_that_no_guard_can_see_are_refused() -> None:
    module = Refused(lambda m, x: x.relu())
    module.notes = torch.ones(3)
    with pytest.raises(TaskError, match="keeps a tensor, notes"):
        write_task(module, (X,), {}, ())
    module = Refused(lambda m, x: x.relu())
    module.register_buffer("sparse", torch.eye(8).to_sparse())
    assert capture_calls(module.eval(), (X,), {}).refused == {"": "its sparse is a torch.sparse_coo tensor"}
    scripted = nn.Sequential(torch.jit.script(nn.ReLU()), nn.Tanh())
    assert list(capture_calls(scripted.eval(), (X,), {}).refused) == ["0"]
    with pytest.raises(UsageError, match="lazy modules"):
        capture_calls(nn.LazyLinear(4), (X,), {})
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    nested = capture_calls(
        nn.TransformerEncoder(layer, 1).eval(), (torch.randn(2, 5, 8),), {"src_key_padding_mask": padding}
    )
    assert "nested" in nested.refused.get("layers.0", "nested")


def test_modules_with_other_functions_are_other_groups() -> None:
    model = nn.Sequential(Scale(), Scale()).eval()
    model[1].activation = F.gelu
    assert len(capture_calls(model, (X,), {}, "?").groups) == 2


def test_a_module_that_does_something_else_than_the_task_is_refused() -> None:
    module = Scale().eval()
    task = write_task(module, (X,), {}, ())
    refuse_other_code(module, task.spec, task.text)
    module.activation = lambda x: x.relu() * 1.0001
    with pytest.raises(UsageError, match="its forward pass is another"):
        refuse_other_code(module, task.spec, task.text)


class Through(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.relu(), x


def test_a_copy_of_what_the_module_hands_through_is_refused(tmp_path: Path) -> None:
    module = Through().eval()
    kernel = swap(module, tmp_path, "(x.relu(), x.clone())")
    kernel.remove()
    group = CapturedCalls(kernel.card.spec, (X,), {}, {"": module})
    with pytest.raises(UsageError, match="returns a copy"):
        install_kernel(group, kernel.card, tmp_path / "best.py", "", "fallback")
