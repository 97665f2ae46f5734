"""`tilesmith report` as people and scripts use it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from sample_run import make_run
from warm_commands import run_warm

from tilesmith.runs import Status

TESTS = Path(__file__).parents[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = make_run(tmp_path / "runs")
    run.set_status(Status.FINISHED, "done")
    run.close()
    return run.path


def tilesmith(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_warm(*words, cwd=cwd)


def test_a_run_becomes_a_page(folder: Path) -> None:
    done = tilesmith("report", "last", cwd=folder.parents[1])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == f"runs/{folder.name}/report.html"
    assert "1.36×" in (folder / "report.html").read_text()


def test_scripts_get_one_document(folder: Path, tmp_path: Path) -> None:
    done = tilesmith("report", folder, "--out", tmp_path / "page.html", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["report"] == str(tmp_path / "page.html")
    assert (document["attempts"], document["best"], document["problems"]) == (5, 4, [])
    assert "kernels/0004.py" in (tmp_path / "page.html").read_text()
    assert not (folder / "report.html").exists()


def test_a_run_without_its_head_still_has_a_page(folder: Path) -> None:
    (folder / "run.json").unlink()
    done = tilesmith("report", folder, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "has no run.json" in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nothing",), "no run 'nothing' in runs"),
        (("last", "--out", "no/such/folder/page.html"), "page.html: the report cannot be written: No such file"),
        ((".",), "not a run (it has no run.json)"),
    ],
)
def test_mistakes_are_one_line(folder: Path, words: tuple[str, ...], told: str) -> None:
    done = tilesmith("report", *words, cwd=folder.parents[1])
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert told in done.stderr


def test_a_check_can_be_kept_as_a_page(tmp_path: Path) -> None:
    task, kernel = TESTS / "fixtures/tasks/relu.py", tmp_path / "kernel.py"
    kernel.write_text("import torch\n\nclass ModelNew(torch.nn.Module:\n")
    done = tilesmith("check", task, kernel, "--device", "cpu", "--report", "verdict.html", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    page = (tmp_path / "verdict.html").read_text()
    assert "<h1>kernel.py for relu.py</h1>" in page
    assert "Syntax error: " in page


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (["report", "last", "--out"], ".html"),
        (["check", "task.py", "kernel.py", "--report"], ".html"),
        (["op", "check", "relu", "--report"], ".html"),
        (["bundle", "last", "--out"], ".zip"),
        (["runs", "export", "--csv"], ".csv"),
    ],
)
def test_no_file_of_another_kind_is_replaced(folder: Path, words: list[str], ending: str) -> None:
    kernel = folder.parents[1] / "kernel.py"
    kernel.write_text("kept")
    done = tilesmith(*words, "kernel.py", cwd=folder.parents[1])
    assert (done.returncode, kernel.read_text()) == (2, "kept")
    assert f"kernel.py: use a name that ends in {ending}" in done.stderr
