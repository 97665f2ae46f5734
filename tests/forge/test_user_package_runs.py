"""Runs of modules of a package: the user's own files are kept, and must still be what they were."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.config import CheckConfig
from tilesmith.errors import TaskError
from tilesmith.forge.run_specification import RunSpecification, begin_run, read_specification
from tilesmith.forge.settings import ForgeSettings
from tilesmith.tasks.source import read_task
from tilesmith.tasks.user_code.task_name import TaskName

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a copy of the fixture package, begun where the package lies; then the user goes elsewhere."""
    shutil.copytree(FIXTURES / "user_package", tmp_path / "user_package")
    monkeypatch.chdir(tmp_path)
    task = TaskName("user_package.model:make_mlp", "user_package.batches:make_batch")
    author = AuthorChoice("playbook", "a test")
    specification = RunSpecification(task, author, CheckConfig(mode="eval"), ForgeSettings())
    with contextlib.closing(begin_run(specification, tmp_path / "runs")) as run:
        path = run.path
    monkeypatch.chdir("/")
    return path


def test_own_files_are_kept_beside_the_task(folder: Path, tmp_path: Path) -> None:
    kept = sorted(str(one.relative_to(folder / "task")) for one in (folder / "task").rglob("*.py"))
    names = ["__init__", "batches", "config", "layers", "parts/__init__", "parts/statistics"]
    assert kept == [f"user_package/{name}.py" for name in names]
    for name in ("config.py", "batches.py"):
        assert (folder / "task/user_package" / name).read_text() == (tmp_path / "user_package" / name).read_text()
    assert (folder / "task.py").read_text() == (tmp_path / "user_package/model.py").read_text()


def test_a_run_goes_on_from_another_folder(folder: Path, tmp_path: Path) -> None:
    specification = read_specification(folder)
    assert specification.check.mode == "eval"
    task = read_task(specification.task)
    assert (task.path, task.inputs_name) == (tmp_path / "user_package/model.py", "make_batch")


@pytest.mark.parametrize("name", ["layers.py", "batches.py", "model.py"])
def test_a_changed_file_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    with (tmp_path / "user_package" / name).open("a") as file:
        file.write("# changed\n")
    with pytest.raises(TaskError, match="changed since the run began") as caught:
        read_specification(folder)
    copy = folder / "task.py" if name == "model.py" else folder / "task/user_package" / name
    assert str(copy) in str(caught.value)
