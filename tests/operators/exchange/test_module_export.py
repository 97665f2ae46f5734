"""The plain package: its kernels where they run, PyTorch and one warning where they do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from exchange_projects import BIAS_ADD, DOUBLED, GRADIENT, PICK_AND_MAX, SCALED_SOFTMAX

from tilesmith.operators.exchange.exporting import export_project
from tilesmith.operators.records import Operator

PROGRAM = """
import sys, warnings
import torch
from bias_add import bias_add, reference

assert not any(isinstance(value, type) for value in vars(sys.modules["bias_add"]).values())
x, bias = torch.randn(5, 7), torch.randn(7)
reference.bias_add = None if {broken} else reference.bias_add
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("default")
    results = [bias_add(x, bias) for _ in range(2)]
assert all(torch.equal(one, x + bias) for one in results)
print(*(one.message for one in caught), sep="\\n")
"""
ALONE = """
import sys
sys.modules["tilesmith"] = None  # importing it would fail
import torch
from {name} import {name}, kernels, reference
called = []
kernel = kernels.{name}
kernels.{name} = lambda *inputs: called.append(1) or kernel(*inputs)
torch.manual_seed(0)
tensors = [{tensors}]
both = []
is_float = lambda one: torch.is_tensor(one) and one.is_floating_point()
for function in ({name}, reference.{name}):
    inputs = [one.clone().requires_grad_() if is_float(one) else one for one in tensors]
    results = function(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    floats = [one for one in results if one.requires_grad]
    torch.autograd.backward(floats, [torch.arange(one.numel()).reshape(one.shape).to(one) for one in floats])
    both.append([*results, *(one.grad for one in inputs if getattr(one, "requires_grad", False))])
assert called == [1], "the kernel ran once, the reference did the rest"
assert len(both[0]) == {compared}
for one, other in zip(*both, strict=True):
    torch.testing.assert_close(one, other)
"""
CALLS = {
    "bias_add": (BIAS_ADD, "torch.randn(37, 53), torch.randn(53)", 3),
    "scaled_softmax": (SCALED_SOFTMAX, "torch.randn(2, 3, 17), 2.0", 2),
    "pick_and_max": (PICK_AND_MAX, "torch.randn(7, 130), torch.randint(0, 130, (7,)), 0.5", 3),
}


@pytest.mark.parametrize(("operator", "tensors", "compared"), CALLS.values(), ids=CALLS)
def test_values_and_gradients_are_the_references_where_there_is_no_tilesmith(
    operator: Operator, tensors: str, compared: int, sample, python: Callable[..., object], tmp_path: Path
) -> None:
    export_project(sample(operator), "module", tmp_path)
    program = ALONE.format(name=operator.name, tensors=tensors, compared=compared)
    done = python("-c", program, cwd=tmp_path, TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stderr


def test_the_kernel_runs_in_the_interpreter(sample, python: Callable[..., object], tmp_path: Path) -> None:
    export_project(sample(BIAS_ADD), "module", tmp_path)
    done = python("-c", PROGRAM.format(broken=True), cwd=tmp_path, TRITON_INTERPRET="1")
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def test_gradients_are_the_baselines(sample, python: Callable[..., object], tmp_path: Path) -> None:
    export_project(sample(PICK_AND_MAX), "module", tmp_path)
    program = GRADIENT.replace("pick_and_max_library", "pick_and_max")
    done = python("-c", program, cwd=tmp_path, TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stderr


def test_an_autotuned_kernel_runs_in_the_interpreter(sample, python: Callable[..., object], tmp_path: Path) -> None:
    """In the package and in the project's own test: of several configurations the first is taken."""
    project = sample(DOUBLED)
    export_project(project, "module", tmp_path)
    program = "import torch; from doubled import doubled; assert doubled(torch.ones(200)).sum() == 400"
    done = python("-c", program, cwd=tmp_path, TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stderr
    done = python("-m", "pytest", "-q", project / "doubled_accuracy.py", "-k", "values", cwd=tmp_path)
    assert "2 passed" in done.stdout


def test_pytorch_steps_in_without_a_gpu_and_says_so_once(
    sample, python: Callable[..., object], tmp_path: Path
) -> None:
    export_project(sample(BIAS_ADD), "module", tmp_path)
    done = python("-c", PROGRAM.format(broken=False), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (said,) = done.stdout.splitlines()
    assert said.startswith("bias_add: the tensors are on a CPU, where Triton kernels do not run; PyTorch computes")
