"""The operators of examples/operators, each taken from its definition to every export, without a GPU.

In both halves, on an awkward and on an empty shape; tuning asks the compiler alone."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from workshop_tools import CPU, EXAMPLES, example, make

from tilesmith.judge import Judge
from tilesmith.operators.checking import NOT_MEASURED, check_project
from tilesmith.operators.exchange.exporting import export_project
from tilesmith.operators.exchange.homes import HOMES
from tilesmith.operators.sizes import is_empty
from tilesmith.operators.tuning.tuner import WITHOUT_GPU, TuneOptions, tune_project

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
SAME = """
import sys
sys.modules["tilesmith"] = None  # importing it would fail
sys.path[:0] = [{project!r}, {module!r}]
from {name}_accuracy import DTYPES, SHAPES, as_tuple, make_inputs
import torch
import {name}
from {name}.kernels import {name} as kernel

inputs = make_inputs(DTYPES[0], **SHAPES[0])
for one, other in zip(as_tuple({name}.{name}(**inputs)), as_tuple(kernel(**inputs)), strict=True):
    assert torch.equal(one, other)
"""


def run(*words: str | Path, cwd: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_ten() -> None:
    assert len(NAMES) == 10


@pytest.mark.slow_suite
@pytest.mark.parametrize("name", NAMES)
def test_an_example_goes_the_whole_way(name: str, tmp_path: Path, judge: Judge) -> None:
    definition = example(name)
    shapes = [sizes for place, sizes in enumerate(definition.operator.accuracy) if place == 1 or is_empty(sizes)]
    few = replace(definition.operator, accuracy=tuple(shapes), dtypes=definition.operator.dtypes[1:3])
    made = make(replace(definition, operator=few), tmp_path, judge)
    assert made.accuracy is not None
    assert made.accuracy.passed, made.accuracy.reason
    project, out = tmp_path / name, tmp_path / "out"

    found = check_project(project, CPU, host=judge)
    assert found.passed
    assert found.change == "nothing changed since the last check that passed"
    assert found.performance is not None
    assert found.performance.reason == NOT_MEASURED
    run(project / f"{name}_accuracy.py", cwd=tmp_path)

    tuned = tune_project(project, CPU, TuneOptions(seconds=20), host=judge)
    assert tuned.right
    assert tuned.tried > 1
    assert tuned.why.endswith(WITHOUT_GPU)

    for target in HOMES:
        exported = export_project(project, target, out / target)
        assert exported.is_verified
    run("-c", SAME.format(name=name, project=str(project), module=str(out / "module")), cwd=tmp_path)
    run("-m", "pytest", "-q", f"test_{name}_library.py", cwd=out / "torch-library")
