"""The plain package: its kernels where they run, PyTorch and one warning where they do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from exchange_projects import BIAS_ADD, DOUBLED, PICK_AND_MAX
from test_torch_library_export import GRADIENT

from tilesmith.operators.exchange.exporting import export_project

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
