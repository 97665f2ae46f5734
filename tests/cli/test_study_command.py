"""`tilesmith study` as people and scripts use it; the playbook writes, without a GPU and without a key."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from sample_run import make_run
from warm_commands import run_warm

SOFTMAX = Path(__file__).parents[2] / "examples/softmax.py"


def study(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    mine = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment = {name: value for name, value in mine.items() if not name.startswith("TILESMITH_")} | {
        "NO_COLOR": "1"
    }
    return run_warm("study", *arguments, cwd=folder, env=environment)


def test_a_story_of_a_run(tmp_path: Path) -> None:
    make_run(tmp_path / "runs").close()
    told = study("story", "last", folder=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("# 39_GRU: a bad seed rescued, 0.12x to 1.36x\n")
    document = json.loads(study("story", "2026-05-01", "--json", folder=tmp_path).stdout)
    assert document["markdown"] == told.stdout
    assert (document["task"], document["lineage"]) == ("39_GRU", [2, 3, 4])


def test_seeds_by_the_playbook_then_once_more_then_replayed(tmp_path: Path) -> None:
    told = ("seeds", SOFTMAX, "--author", "playbook", "--device", "cpu", "--json")
    done = study(*told, "--runs", 1, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["distribution"]["passed, not timed"] == document["good"] == 1
    assert "type normalization" in document["outcomes"][0]["features"]
    plot = (tmp_path / document["plot"]).read_text()
    assert all(f">{words}<" in plot for words in ("1.0 and", "above", "passed, not", "timed"))
    again = study(*told, "--runs", 1, folder=tmp_path)
    assert "is there already" in again.stderr
    assert json.loads(again.stdout) == document
    replayed = study(
        *told, "--runs", 1, "--replay", "runs", "--folder", "again", "--plot", "x.png", folder=tmp_path
    )
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout)["author"] == "replay of playbook"
    assert (tmp_path / "x.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("story", "nothing"), "no run 'nothing'"),
        (("seeds", SOFTMAX, "--runs", 0), "--runs 0: must be at least 1"),
        (("seeds", SOFTMAX, "--plot", "x.gif"), "ends in .svg or .png"),
        (("seeds", SOFTMAX, "--replay", "nowhere"), "no runs of softmax in there"),
        (("seeds", "nothing.py", "--runs", 1), "nothing.py"),
        (("seeds", SOFTMAX, "--author", "playbook", "--model", "gpt-5"), "asks no model"),
        (("ablation", SOFTMAX, "--stages", "some"), "use both, on, off"),
        (("ablation", SOFTMAX, "copies/softmax.py"), "two tasks are called softmax"),
        (("ablation",), "see  tilesmith study ablation --help"),
    ],
    ids=lambda one: " ".join(map(str, one[:3:2])) if isinstance(one, tuple) else "",
)
def test_wrong_use_of_study_is_one_line(tmp_path: Path, arguments: tuple[object, ...], message: str) -> None:
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies/softmax.py").write_text(SOFTMAX.read_text())
    done = study(*arguments, folder=tmp_path)
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["seeds", "ablation", "story"])
def test_help_has_an_example(tmp_path: Path, command: str) -> None:
    told = study(command, "--help", folder=tmp_path)
    assert f"tilesmith study {command} " in told.stdout
    assert "--json" in told.stdout
    assert "Exit code 0" in told.stdout
