"""Names of tasks and what they mean, without anything being imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tilesmith.errors import TaskError, UsageError
from tilesmith.tasks.source import own_texts, read_task
from tilesmith.tasks.user_code.task_name import TaskName

MODEL = "from torch import nn\nfrom .layers import Norm\nclass Net(nn.Module): pass\ndef get_inputs(): return []\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """mine/: an __init__.py, model.py, layers.py, a sub-package, and a file that nobody imports."""
    folder = tmp_path / "mine"
    (folder / "deep").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('nothing may be imported')\n")
    (folder / "model.py").write_text(MODEL)
    (folder / "layers.py").write_text("import torch, json\nfrom .deep import tools\nfrom . import sizes as s\n")
    (folder / "deep" / "__init__.py").write_text("")
    (folder / "deep" / "tools.py").write_text(
        "from ...elsewhere import x\nfrom ..model import Net\nimport beside\n"
    )
    (folder / "sizes.py").write_text("N = 3\n")
    (folder / "unused.py").write_text("")
    (tmp_path / "beside.py").write_text("def make_batch(): return []\nimport mine.missing\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return folder


def test_a_class_of_a_module_on_the_path(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = read_task(TaskName("mine.model:Net"))
    assert (here.name, here.model_name, here.inputs_name, here.init_name) == ("Net", "Net", "get_inputs", None)
    assert here.path == package / "model.py"
    assert (here.file.module, here.file.package, here.file.root) == ("mine.model", "mine", tmp_path)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(TaskError, match=f"no module mine.model on {tmp_path}/other; add its folder with --path"):
        read_task(TaskName("mine.model:Net"))
    assert read_task(TaskName("mine.model:Net", path=("..",))).path.resolve() == package / "model.py"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert read_task(TaskName("mine.model:Net")).path == package / "model.py"
    assert "mine" not in sys.modules


def test_a_file_knows_its_package(package: Path, tmp_path: Path) -> None:
    task = read_task(TaskName(f"{package}/model.py:Net"))
    assert (task.file.module, task.file.root) == ("mine.model", tmp_path)
    assert task.name == "Net"
    with pytest.raises(TaskError, match="no class Model"):
        read_task(package / "model.py")


def test_own_imports_are_followed_and_nothing_else(package: Path) -> None:
    task = read_task(TaskName("mine.model:Net"))
    names = ["mine/__init__.py", "mine/layers.py", "mine/deep/__init__.py", "mine/deep/tools.py", "mine/sizes.py"]
    assert list(own_texts(task)) == [*names, "beside.py"]
    before = task.own_digest
    (package / "unused.py").write_text("N = 4\n")
    assert read_task(TaskName("mine.model:Net")).own_digest == before
    (package / "sizes.py").write_text("N = 4\n")
    assert read_task(TaskName("mine.model:Net")).own_digest != before


def test_inputs_from_another_module(package: Path) -> None:
    task = read_task(TaskName("mine.model:Net", "beside:make_batch"))
    assert task.inputs_name == "make_batch"
    assert task.model_text == MODEL
    assert task.inputs_text == (package.parent / "beside.py").read_text()
    assert "beside.py" in own_texts(task)
    same = read_task(TaskName("mine.model:Net", "mine.model:get_inputs"))
    assert (same.inputs_file, same.inputs_text, same.text) == (None, None, MODEL)


def test_a_function_takes_no_constructor_arguments(package: Path) -> None:
    (package / "model.py").write_text(MODEL + "def get_init_inputs(): return [1]\ndef make(): return Net(1)\n")
    assert read_task(TaskName("mine.model:Net")).init_name == "get_init_inputs"
    assert read_task(TaskName("mine.model:make")).init_name is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (TaskName("mine.modle:Net"), "mine.modle:Net: no module mine.modle on "),
        (TaskName("mine.model:Nett"), "model.py: no class or function Nett; it has Net, get_inputs"),
        (TaskName("mine/model.py", "beside:make_batch"), "model.py:NAME; it has Net, get_inputs"),
        (TaskName("mine.model"), "mine.model: no such file; a class in a module is named MODULE:CLASS"),
        (TaskName("mine.layers:Norm"), "layers.py: no function get_inputs: pass --inputs MODULE:FUNCTION"),
        (TaskName("mine.model:Net", "beside:make"), "beside.py: no function make, which --inputs names"),
        (TaskName("mine.model:Net", "make"), "model.py: no function make, which --inputs names"),
        (TaskName("mine.model:Net", "mine.nothing:make"), "mine.nothing:make: no module mine.nothing on "),
        (TaskName("mine.model:Net", "3"), "--inputs 3: name MODULE:FUNCTION"),
        (TaskName("mine.model:Net", path=("nowhere",)), "--path nowhere: no such folder"),
        (TaskName("gone.py"), "gone.py: no such file"),
        (TaskName("mine/model.py:a.b"), "is not the name of a task"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(package: Path, name: TaskName, said: str) -> None:
    (package / "layers.py").write_text("class Norm: pass\n")
    with pytest.raises((TaskError, UsageError)) as caught:
        read_task(name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_absolute_name_means_the_same_from_everywhere(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [TaskName("mine.model:Net", "beside:make_batch").absolute(), TaskName("mine/model.py:Net").absolute()]
    expected = [read_task(name).text for name in names]
    monkeypatch.chdir("/")
    assert [read_task(name).text for name in names] == expected
