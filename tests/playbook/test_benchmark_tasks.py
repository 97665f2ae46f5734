"""Operators and chains of the benchmark are planned at their full size, and what is planned can be written.

Convolutions, attention and networks, which take longer, are built and run without their numbers.
"""

from __future__ import annotations

import ast
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from playbook_surveys import survey_task

from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined
from tilesmith.playbook.task_plan import plan_lines, plan_task

FOLDER = Path(__file__).parents[2] / "benchmarks" / "playbook_tasks"
TASKS = {kind: sorted((FOLDER / kind).glob("*.py")) for kind in ("operators", "chains")}
LARGER_TASKS = {kind: sorted((FOLDER / kind).glob("*.py")) for kind in ("convolutions", "attention", "networks")}
LEAST_TASKS = {"operators": 30, "chains": 30, "convolutions": 25, "attention": 10, "networks": 20}
MOST_BYTES = 1_500_000_000
script = runpy.run_path(str(FOLDER.with_suffix(".py")))


@pytest.mark.parametrize("path", [path for paths in TASKS.values() for path in paths], ids=lambda path: path.stem)
def test_task_is_planned(path: Path) -> None:
    survey = survey_task(path.stem, path.read_text())
    assert survey.graph is not None, survey.environment["untraced"]
    assert survey.profile.bytes_moved is not None
    assert survey.profile.bytes_moved <= MOST_BYTES
    plan = plan_task(survey)
    assert plan_lines(plan)[0] == plan.told
    match = find_match(survey)
    assert plan.recipe_fits is not isinstance(match, Declined)
    if not isinstance(match, Declined):
        for tuning in match.tunings:
            ast.parse(match.write(tuning))


@pytest.mark.parametrize(
    "path", [path for paths in LARGER_TASKS.values() for path in paths], ids=lambda path: path.stem
)
def test_larger_task_is_built_and_runs(path: Path) -> None:
    task = runpy.run_path(str(path))
    with torch.device("meta"), torch.no_grad():
        model = task["Model"](*task["get_init_inputs"]())
        inputs = task["get_inputs"]()
        output = model(*inputs)
    assert output.dtype == next((one.dtype for one in inputs if one.is_floating_point()), torch.float32)
    assert sum(one.nbytes for one in (*inputs, *model.parameters(), *model.buffers(), output)) <= MOST_BYTES
    norms = [one for one in model.modules() if isinstance(one, torch.nn.modules.batchnorm._BatchNorm)]
    assert not norms or model.training is ("training" in path.stem)


@pytest.mark.parametrize("kind", LEAST_TASKS)
def test_there_are_enough(kind: str) -> None:
    assert len((TASKS | LARGER_TASKS)[kind]) >= LEAST_TASKS[kind]


def run_script(out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER.with_suffix(".py")), "--device", "cpu", "--out", str(out), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_script_sums_answers_up() -> None:
    row, results, format_summary = (script[name] for name in ("Row", "Results", "format_summary"))

    def passed(name: str, best: float, **more: Any) -> Any:
        return row(name, "passed", "right", kernel_ms=1.0, speedups={"best": best}, **more)

    rows = (
        passed("operators/product_square", 4.0, has_large_product=True),
        row("operators/product_few_rows", "kept", "slower", has_large_product=True),
        passed("operators/swish", 0.9, copy_share=0.8),
        passed("operators/gelu_tanh", 1.6, copy_share=0.95, seconds=130.0),
        row("operators/mse_loss", "not run", "the time was up"),
    )
    told = format_summary(results("2026-05-01", "1234567", 2, {}, None, seconds=9.0, rows=rows))
    assert "3 passed, 1 kept, 0 failed, 0 error, 1 not run in 9 s\n" in told
    assert "a GFLOP or more: geometric mean over the best baseline 4.000 (1 written), 2.000 with" in told
    assert "others: geometric mean over the best baseline 1.200 (2 written)" in told
    assert "operators: geometric mean over the best baseline 1.793 (3 written), 1.549 with 1 kept as 1" in told
    assert "kept as 1, 1 without an answer left out" in told
    assert "slower than 0.97x: operators/swish\n" in told
    assert "memory-bound below 85% of a copy: operators/swish\n" in told
    assert told.endswith("longer than 120 s: operators/gelu_tanh")


@pytest.mark.slow
def test_the_script_forges_a_suite_and_goes_on_with_it(tmp_path: Path) -> None:
    out, again = (tmp_path / name for name in ("results.json", "again.json"))
    told = ("--only", "hinge_loss", "--rounds", "0", "--suite", str(tmp_path / "suite"))
    for file in (out, again):
        done = run_script(file, *told)
        assert done.returncode == 0, done.stderr
        assert "1 passed, 0 kept" in done.stdout
    assert json.loads(again.read_text())["rows"] == json.loads(out.read_text())["rows"]


def test_the_script_names_an_unknown_task(tmp_path: Path) -> None:
    done = run_script(tmp_path / "results.json", "--only", "softmaks")
    assert done.returncode == 1
    assert "--only softmaks: no such task" in done.stderr


@pytest.mark.parametrize(
    ("options", "tasks"),
    [
        (["--only", "networks/lenet5"], {"networks/lenet5"}),
        (["--folders", "networks", "--only", "lenet5"], {"networks/lenet5"}),
        (["--only", "batchnorm*", "networks/lenet5"], {"networks/lenet5", "operators/batchnorm_eval"}),
    ],
)
def test_the_script_takes_other_folders(options: list[str], tasks: set[str], tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    done = run_script(out, "--seconds", "-1", *options)
    assert done.returncode == 0, done.stderr
    written = {row["task"] for row in json.loads(out.read_text())["rows"]}
    assert tasks <= written
    assert {name for name in written if name.startswith("networks/")} == {"networks/lenet5"}


def test_the_script_leaves_other_folders_alone(tmp_path: Path) -> None:
    done = run_script(tmp_path / "results.json", "--only", "lenet5")
    assert done.returncode == 1
    assert "--only lenet5: no such task in operators, chains" in done.stderr
    assert "--folders takes attention, convolutions, networks too" in done.stderr
