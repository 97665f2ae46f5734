"""kill -9 at any moment, the same command again, and the suite ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from folders import snapshot
from marked_kernels import TASK, analysis, kernel
from script import Script
from scripted_run import environment
from scripted_server import ScriptedServer

PROGRAM = [sys.executable, str(Path(__file__).parent / "marked_suite.py")]
REPLIES = {
    "seed-1": kernel("passed 1.2 low gemm", "a"),
    "analyze-1": analysis(),
    "optimize-1": kernel("wrong_values", "b"),
    "repair-1": kernel("passed 1.5", "c"),
}
ELEMENTWISE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.{}(x) * {}


def get_inputs():
    return [torch.rand(64, 96)]
"""
FUNCTIONS = ("relu", "tanh", "sigmoid", "sin", "cos", "exp", "sqrt", "abs", "neg", "square")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Script:
    folder = tmp_path_factory.mktemp("script")
    for name, text in REPLIES.items():
        (folder / f"{name}.md").write_text(text)
    return Script(folder, reply=kernel("passed 1.1", "d"))


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """27 tasks, two files that are broken ones, one that lacks its inputs, and one that is none."""
    folder = tmp_path_factory.mktemp("tasks")
    for number in range(27):
        (folder / f"level{number % 2 + 1}").mkdir(exist_ok=True)
        (folder / f"level{number % 2 + 1}" / f"{number}_relu.py").write_text(f"{TASK}\nNUMBER = {number}\n")
    (folder / "level1" / "30_broken.py").write_text("class Model(:\n")
    (folder / "level1" / "31_latin.py").write_bytes(b"class Model:\n    '\xff'\n")
    (folder / "level2" / "32_no_inputs.py").write_text("class Model: pass\n")
    (folder / "level2" / "helpers.py").write_text("def double(x): return 2 * x\n")
    return folder


def test_thirty_tasks_killed_ten_times_end_the_same(script: Script, tasks: Path, tmp_path: Path) -> None:
    dice = random.Random(3)
    with ScriptedServer(script) as server:
        command = [*PROGRAM, str(tasks)]
        subprocess.run([*command, str(tmp_path / "alone"), server.base_url, "3"], check=True, env=environment())
        again = [*command, str(tmp_path / "killed"), server.base_url, "3"]
        killed_at_random(again, tmp_path / "killed", dice, 10)
    alone, killed = rows_of(tmp_path / "alone"), rows_of(tmp_path / "killed")
    assert killed == alone
    assert len(alone) == 30
    outcomes = [row["outcome"] for row in alone]
    assert (outcomes.count("passed"), outcomes.count("error")) == (27, 3)
    for folders in zip(*(sorted((tmp_path / one / "runs").iterdir()) for one in ("alone", "killed")), strict=True):
        one, other = map(snapshot, folders)
        assert one == other


@pytest.mark.slow_suite
def test_the_real_command_killed_ten_times_ends_the_same(tmp_path: Path) -> None:
    """Thirty tasks, the playbook and the real judge."""
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    for number in range(30):
        name, factor = FUNCTIONS[number % len(FUNCTIONS)], 1 + number // len(FUNCTIONS)
        (tasks / f"{number}_{name}.py").write_text(ELEMENTWISE.format(name, factor))
    suite = [sys.executable, "-m", "tilesmith", "suite", str(tasks), "--effort", "quick", "--rounds", "0"]
    suite += ["--no-confirm", "--tuning-s", "0", "--jobs", "2", "--out"]
    subprocess.run([*suite, str(tmp_path / "alone")], check=True, env=environment(), capture_output=True)
    killed_at_random([*suite, str(tmp_path / "killed")], tmp_path / "killed", random.Random(4), 10)
    alone, killed = rows_of(tmp_path / "alone"), rows_of(tmp_path / "killed")
    assert killed == alone
    assert [row["outcome"] for row in alone] == ["passed"] * 30


def killed_at_random(command: list[str], out: Path, dice: random.Random, kills: int) -> None:
    """Start, kill after a few more rows, start again; after so many kills it ends by itself."""
    for _ in range(kills):
        wanted = rows_on_disk(out) + dice.randint(0, 2)
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), start_new_session=True
        ) as process:
            while rows_on_disk(out) < wanted or not (out / "rows.jsonl").exists():
                assert process.poll() is None, "it ended before it was killed"
                time.sleep(0.01)
            time.sleep(dice.uniform(0, 0.5))
            assert process.poll() is None, "it ended before it was killed"
            os.killpg(process.pid, signal.SIGKILL)
    subprocess.run(command, check=True, env=environment(), capture_output=True)


def rows_on_disk(out: Path) -> int:
    file = out / "rows.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """Without what differs between two suites: seconds, and the numbers of the runs of one name."""
    document = json.loads((folder / "suite.json").read_text())
    assert document["why_unfinished"] == ""
    return [
        {name: value for name, value in row.items() if name not in ("seconds", "run")} for row in document["rows"]
    ]
