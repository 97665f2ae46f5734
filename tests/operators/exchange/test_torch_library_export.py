"""The operator under torch.library: its own exported tests, what the compiler sees, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from exchange_projects import BIAS_ADD, DOUBLED, GRADIENT, OPERATORS, PICK_AND_MAX, SCALED_SOFTMAX

from tilesmith.operators.exchange.exporting import export_project
from tilesmith.operators.project import read_project, write_project
from tilesmith.operators.records import Operator

TRACED = """
import importlib, logging
import torch
from functorch.compile import aot_function
from torch._subclasses import FakeTensorMode

logging.disable(logging.CRITICAL)
ARGUMENTS = {
    "bias_add": lambda: (torch.empty(37, 53).t(), torch.empty(37)),
    "scaled_softmax": lambda: (torch.empty(2, 5, 7),),
    "pick_and_max": lambda: (torch.empty(7, 130), torch.zeros(7, dtype=torch.int64), 0.5),
    "doubled": lambda: (torch.empty(200),),
}
for name, arguments in ARGUMENTS.items():
    operator = getattr(importlib.import_module(f"{name}_library"), name)
    with FakeTensorMode():
        graphs = []
        keep = lambda graph, _: graphs.append(graph.code) or graph
        aot_function(lambda *inputs: operator(*inputs), keep)(*arguments())
    print(name, "triton_kernel_wrapper_functional" in graphs[0], f"torch.ops.tilesmith.{name}" in graphs[0])
"""


def test_the_compiler_sees_into_the_kernels(sample, python: Callable[..., object], tmp_path: Path) -> None:
    for operator in OPERATORS:
        export_project(sample(operator), "torch-library", tmp_path)
    done = python("-c", TRACED, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{operator.name} True False" for operator in OPERATORS]


def test_a_launch_that_cannot_be_wrapped_makes_an_opaque_operator(sample, tmp_path: Path) -> None:
    project = sample(BIAS_ADD)
    kernel = project / "bias_add_triton.py"
    kernel.write_text(
        kernel.read_text().replace("bias_add_kernel[grid](", "launch = bias_add_kernel[grid]\n    launch(")
    )
    export_project(project, "torch-library", tmp_path)
    package = (tmp_path / "bias_add_library" / "__init__.py").read_text()
    assert "define = torch.library.custom_op\n" in package
    assert "no kernel launch of it could be wrapped" in package


def exported_test(operator: Operator, sample, python, tmp_path: Path, *chosen: str) -> str:
    """The last line of pytest on the exported test."""
    project = sample(operator)
    write_project(replace(read_project(project), operator=operator))
    export_project(project, "torch-library", tmp_path)
    test = f"test_{operator.name}_library.py"
    done = python("-m", "pytest", "-q", test, *chosen, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()[-1]


def test_opcheck_and_compile_pass(sample, python: Callable[..., object], tmp_path: Path) -> None:
    """One shape and dtype; the others below."""
    small = replace(BIAS_ADD, accuracy=({"M": 3, "N": 5},))
    assert "3 passed" in exported_test(small, sample, python, tmp_path, "-k", "dtype0")


@pytest.mark.slow_suite
@pytest.mark.parametrize(
    ("operator", "count"), [(BIAS_ADD, 12), (SCALED_SOFTMAX, 6), (PICK_AND_MAX, 6), (DOUBLED, 6)]
)
def test_the_exported_tests_pass(sample, python, tmp_path: Path, operator: Operator, count: int) -> None:
    assert f"{count} passed" in exported_test(operator, sample, python, tmp_path)


@pytest.mark.slow_suite
def test_gradients_are_the_baselines(sample, python: Callable[..., object], tmp_path: Path) -> None:
    export_project(sample(PICK_AND_MAX), "torch-library", tmp_path)
    done = python("-c", GRADIENT, cwd=tmp_path, TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stderr
