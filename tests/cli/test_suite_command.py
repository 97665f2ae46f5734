"""`tilesmith suite` and `tilesmith check` of many kernels, as they are typed."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from warm_commands import run_warm

TASK = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * {}


def get_inputs():
    return [torch.rand(32, 48)]
"""
KERNEL = """import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled_relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, tl.maximum(x, 0.0) * {}, mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        scaled_relu_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
        return y
"""
QUICK = ("--effort", "quick", "--rounds", "0", "--tuning-s", "0", "--no-confirm", "--device", "cpu")


def tilesmith(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_warm(*arguments, cwd=folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suites")
    for level, number, text in ((1, 1, TASK.format(2)), (1, 2, "class Model(:\n"), (2, 1, TASK.format(3))):
        (folder / "tasks" / f"level{level}").mkdir(parents=True, exist_ok=True)
        (folder / "tasks" / f"level{level}" / f"{number}_task.py").write_text(text)
    return folder


@pytest.fixture(scope="module")
def forged(place: Path) -> subprocess.CompletedProcess[str]:
    return tilesmith("suite", "tasks", *QUICK, "--out", "out", "--jobs", "2", folder=place)


def test_a_suite_from_folder_to_page(place: Path, forged: subprocess.CompletedProcess[str]) -> None:
    assert forged.returncode == 0, forged.stderr
    assert "2 passed, 1 error" in forged.stdout
    document = json.loads((place / "out" / "suite.json").read_text())
    assert [(row["key"], row["outcome"]) for row in document["rows"]] == [
        ("level1/1_task", "passed"),
        ("level1/2_task", "error"),
        ("level2/1_task", "passed"),
    ]
    assert "syntax error" in document["rows"][1]["why"]
    with (place / "out" / "suite.csv").open(newline="") as file:
        assert [row["outcome"] for row in csv.DictReader(file)] == ["passed", "error", "passed"]
    page = (place / "out" / "index.html").read_text()
    for row in (document["rows"][0], document["rows"][2]):
        report = f"runs/{row['run']}/report.html"
        assert report in page
        assert (place / "out" / report).exists()


def test_the_same_command_does_nothing_twice(place: Path, forged: subprocess.CompletedProcess[str]) -> None:
    rows = (place / "out" / "rows.jsonl").read_text()
    again = tilesmith("suite", "tasks", *QUICK, "--out", "out", "--json", folder=place)
    assert again.returncode == 0, again.stderr
    assert len(json.loads(again.stdout)["rows"]) == 3
    resumed = tilesmith("suite", "--resume", "out", folder=place)
    assert resumed.returncode == 0, resumed.stderr
    assert (place / "out" / "rows.jsonl").read_text() == rows
    mended = tilesmith("suite", "--resume", "out", "--retry-errors", folder=place)
    assert mended.returncode == 0
    assert len((place / "out" / "rows.jsonl").read_text().splitlines()) == 4


def test_a_torn_row_is_done_again(place: Path, forged: subprocess.CompletedProcess[str], tmp_path: Path) -> None:
    """Its run is there, finished, so that nothing is judged anew."""
    shutil.copytree(place / "out", tmp_path / "out")
    file = tmp_path / "out" / "rows.jsonl"
    lines = [line for line in file.read_text().splitlines(keepends=True) if "level2" not in line]
    file.write_text("".join(lines) + '{"key": "level2/1_ta')
    done = tilesmith("suite", "--resume", tmp_path / "out", "--json", folder=place)
    assert done.returncode == 0, done.stderr
    assert [row["outcome"] for row in json.loads(done.stdout)["rows"]] == ["passed", "error", "passed"]
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 2


def test_a_damaged_suite_is_made_anew(
    place: Path, forged: subprocess.CompletedProcess[str], tmp_path: Path
) -> None:
    """As its message says; so is one that a kill ended before its suite.json was there."""
    shutil.copytree(place / "out", tmp_path / "out")
    damaged, rows = tmp_path / "out" / "suite.json", tmp_path / "out" / "rows.jsonl"
    damaged.write_text("{")
    command = ("suite", "tasks", *QUICK, "--out", tmp_path / "out", "--json")
    refused = tilesmith(*command, folder=place)
    assert "move it and rows.jsonl away" in refused.stderr
    damaged.unlink()
    before = len(rows.read_text().splitlines())
    assert "is not empty and not a suite" in tilesmith(*command, folder=place).stderr, "rows are not written over"
    assert len(rows.read_text().splitlines()) == before
    rows.write_text("")
    done = tilesmith(*command, folder=place)
    assert done.returncode == 0, done.stderr
    assert [row["outcome"] for row in json.loads(done.stdout)["rows"]] == ["passed", "error", "passed"]
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("suite", "tasks", "--out", "out", "--device", "cpu"), "holds a suite with another --seeds, --rounds"),
        (("suite", "tasks", "--out", "tasks"), "is not empty and not a suite"),
        (("suite", "tasks", "--only", "nothing"), "none of the 3 tasks fits"),
        (("suite", "nowhere"), "no such folder, file or pattern"),
        (("suite", "--resume", "out", "--effort", "quick"), "leave out --effort"),
        (("suite", "--resume", "out", "tasks"), "leave out PLACE"),
        (("suite", "--resume", "tasks"), "not a suite (there is no suite.json)"),
        (("suite", "--resume", "none"), "none: not a suite (there is no such folder)"),
        (("suite", "tasks", "--jobs", "0"), "--jobs 0: must be at least 1"),
        (("suite", "tasks", "--max-cost", "0"), "--max-cost 0: must be greater than zero"),
        (("suite", "tasks", "--gpu-kind", "H200"), "add --on ray"),
        (("suite", "run"), "name folders or files with tasks"),
        (("check", "--suite", "kernels"), "--tasks DIR"),
        (("check", "--suite", "tasks", "--tasks", "tasks", "--inputs", "f"), "--inputs: is for one task"),
        (("check", "--suite", "tasks", "--tasks", "tasks", "--path", "none", "--out", "o"), "none: no such folder"),
        (("check", "tasks/level1/1_task.py"), "name a task and a kernel"),
        (("check", "tasks/level1/1_task.py", "k.py", "--jobs", "2"), "--suite"),
    ],
)
def test_wrong_use_is_one_line(
    place: Path, forged: subprocess.CompletedProcess[str], arguments: tuple[str, ...], message: str
) -> None:
    done = tilesmith(*arguments, folder=place)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_two_suites_are_compared(place: Path, forged: subprocess.CompletedProcess[str]) -> None:
    done = tilesmith("suite", "compare", "out", "out", "--json", folder=place)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["equal"] + json.loads(done.stdout)["unknown"] == 3
    told = tilesmith("suite", "compare", "out", place / "out", folder=place)
    assert f"first: out\nsecond: {place / 'out'}" in told.stdout
    assert "correct: the same tasks" in told.stdout


def test_kernels_of_others(place: Path, tmp_path: Path) -> None:
    """A folder as KernelBench leaves it: samples that are right and wrong, one of a problem that is not there."""
    results = tmp_path / "runs" / "a-model"
    results.mkdir(parents=True)
    for level, sample, factor in ((1, 0, 2), (1, 1, 5), (2, 0, 3), (7, 0, 1)):
        (results / f"level_{level}_problem_1_sample_{sample}_kernel.py").write_text(KERNEL.format(factor))
    check = (
        "check",
        "--suite",
        results,
        "--tasks",
        "tasks",
        "--device",
        "cpu",
        "--out",
        tmp_path / "out",
        "--json",
    )
    done = tilesmith(*check, folder=place)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    assert [(row["key"], row["verdict"]) for row in rows] == [
        ("level1/1_task sample 0", "passed"),
        ("level1/1_task sample 1", "wrong_values"),
        ("level2/1_task sample 0", "passed"),
    ]
    assert [row["device"] for row in rows] == ["CPU (Triton interpreter)"] * 3
    assert "1 other file left out: no kernel of these tasks" in done.stderr
    assert sum(line.lstrip().startswith("at (") for line in done.stderr.splitlines()) == 0, "a line for each kernel"
    kept = json.loads((tmp_path / "out" / "evaluations" / "level1" / "1_task sample 1.json").read_text())
    assert kept["verdict"] == "wrong_values"
    assert json.loads(done.stdout)["statistics"]["whole"]["samples"] is not None


def test_several_kernels_for_one_task(place: Path, tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(KERNEL.format(2))
    wrong.write_text(KERNEL.format(5))
    task = place / "tasks" / "level1" / "1_task.py"
    done = tilesmith("check", task, right, wrong, "--device", "cpu", "--json", folder=place)
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert [(Path(one["kernel"]).name, one["verdict"]) for one in told] == [
        ("right.py", "passed"),
        ("wrong.py", "wrong_values"),
    ]
    missing = tilesmith("check", task, right, tmp_path / "missing.py", "--device", "cpu", folder=place)
    assert missing.returncode == 2
    assert "missing.py: cannot read the kernel" in missing.stderr
    assert missing.stdout == "", "nothing was judged"
