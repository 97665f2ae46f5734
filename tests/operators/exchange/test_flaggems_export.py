"""An exported operator inside FlagGems' own release from PyPI, in Triton's interpreter.

Not run, for want of a GPU and of FlagGems' repository: its own accuracy_utils, and the clock of its benchmarks."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from exchange_projects import BIAS_ADD, PICK_AND_MAX, SCALED_SOFTMAX

from tilesmith.operators.exchange.exporting import export_project
from tilesmith.operators.exchange.homes import RELEASE
from tilesmith.operators.project import read_project
from tilesmith.operators.records import Operator

EXAMPLES = Path(__file__).parents[3] / "examples" / "operators"
STAND_INS = Path(__file__).parent / "flaggems_stand_ins"
REGISTERED = """
import yaml
import conftest, flag_gems
name = conftest.os.environ["OPERATOR"]
assert flag_gems.__version__ == "{release}", flag_gems.__version__
assert callable(getattr(flag_gems, name)) and name in flag_gems.fused.__all__
(entry,) = yaml.safe_load(open(f"../conf/operators.{{name}}.yaml"))["ops"]
assert entry["id"] == name and set(entry) == {{"id", "description", "for", "labels", "kind", "stages"}}, entry
"""
LOGGED = """
import logging, sys
import conftest, torch
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(name)s %(message)s")
from flag_gems.fused.bias_add import bias_add
bias_add(torch.ones(2, 3), torch.ones(3))
assert conftest.guarded == [torch.device("cpu")]
"""


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FlagGems and what it imports beside torch, in a folder of its own."""
    folder = tmp_path_factory.mktemp("flag_gems")
    wanted = [f"flag-gems=={RELEASE}", "sqlalchemy", "pyyaml"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"FlagGems is not to be had here: {done.stderr.splitlines()[-1]}")
    return folder


def checkout(project: Path, release: Path, folder: Path) -> tuple[Path, dict[str, str]]:
    """A FlagGems with the operator exported into it and registered as its REGISTER file says; how to run in it."""
    name = read_project(project).operator.name
    shutil.copytree(release, folder / "src")
    for place in ("tests", "benchmark"):
        (folder / place).mkdir()
        (folder / place / "__init__.py").touch()
        shutil.copy(STAND_INS / "without_gpu.py", folder / place / "conftest.py")
    shutil.copy(STAND_INS / "accuracy_utils.py", folder / "tests")
    shutil.copy(STAND_INS / "base.py", folder / "benchmark")
    export_project(project, "flaggems", folder)
    import_line, listed = re.findall(r"```python\n\s*(.+)\n", (folder / f"REGISTER_{name}.md").read_text())
    init = folder / "src/flag_gems/fused/__init__.py"
    init.write_text(f"{import_line}\n{init.read_text().replace('__all__ = [', f'__all__ = [{listed}')}")
    return folder, {"PYTHONPATH": str(folder / "src"), "GEMS_VENDOR": "nvidia", "OPERATOR": name}


@pytest.mark.slow_suite
@pytest.mark.parametrize("operator", [BIAS_ADD, SCALED_SOFTMAX, PICK_AND_MAX], ids=lambda operator: operator.name)
def test_the_exported_test_and_benchmark_run_under_flaggems(
    operator: Operator, sample, python: Callable[..., object], release: Path, tmp_path: Path
) -> None:
    project = sample(replace(operator, performance=operator.accuracy))
    folder, environment = checkout(project, release, tmp_path / "FlagGems")
    registered = python("-c", REGISTERED.format(release=RELEASE), cwd=folder / "tests", **environment)
    assert registered.returncode == 0, registered.stderr
    cases = len(operator.accuracy) * len(operator.dtypes)
    tested = python("-m", "pytest", "-q", "tests", cwd=folder, **environment)
    assert f"{cases} passed" in tested.stdout, tested.stdout
    timed = python("-m", "pytest", "-q", "-s", "benchmark", cwd=folder, **environment)
    assert f"{operator.name}: {cases} cases of" in timed.stdout, timed.stdout


@pytest.mark.slow_suite
def test_a_wrong_kernel_fails_its_exported_test_and_a_right_one_logs(
    sample, python: Callable[..., object], release: Path, tmp_path: Path
) -> None:
    project = sample(BIAS_ADD)
    folder, environment = checkout(project, release, tmp_path / "FlagGems")
    logged = python("-c", LOGGED, cwd=folder / "tests", **environment)
    assert "flag_gems.fused.bias_add GEMS BIAS_ADD" in logged.stdout, logged.stderr
    kernel = folder / "src/flag_gems/fused/bias_add.py"
    kernel.write_text(kernel.read_text().replace("x + bias[None, :]", "x - bias[None, :]"))
    tested = python("-m", "pytest", "-q", "tests", cwd=folder, **environment)
    assert "4 failed" in tested.stdout, tested.stdout


@pytest.mark.slow_suite
def test_a_definition_becomes_an_operator_of_flaggems(
    op: Callable[..., object], python: Callable[..., object], release: Path, tmp_path: Path
) -> None:
    """Written by the playbook, checked, exported and tested there; in float32, for the interpreter is slow."""
    made = op("new", "softmax", "--from", EXAMPLES / "softmax.py", "--device", "cpu", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    folder, environment = checkout(tmp_path / "softmax", release, tmp_path / "FlagGems")
    assert "# Verified before the export: " in (folder / "tests" / "test_softmax.py").read_text()
    tested = python("-m", "pytest", "-q", "tests", "-k", "dtype0", cwd=folder, **environment)
    assert f"{len(read_project(tmp_path / 'softmax').operator.accuracy)} passed" in tested.stdout, tested.stdout
